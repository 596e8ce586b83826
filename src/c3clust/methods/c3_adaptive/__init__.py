"""C3Adaptive: C3 that sets itself right without labels.

The stages and the losses are those of CC and C3 (methods/cc.py, methods/c3). What this package changed and measured
(docs/METHOD.md, docs/REPRODUCTION.md):

- Stage 1 warms up with the instance loss alone; the cluster head then starts from k-means in z, not at random.
- zeta is found from the data (zeta.py).
- The cluster head follows the features in stage 2, instead of staying frozen.
- A few epochs at the end train all parts jointly (stage "settle").
- A guard stops a stage 2 that fails (guard.py).

Each of them can be turned off by itself. With warmup=0, zeta=0.6, head="frozen", settle=0, guard=False,
cc_schedule="constant" and no encoder it is C3.
"""

from c3clust.methods.c3_adaptive.estimator import C3Adaptive

__all__ = ["C3Adaptive"]
