"""C3: cross-instance guided contrastive clustering.

Sadeghi, Hojjati, Armanfard, BMVC 2023, https://arxiv.org/abs/2211.07136
Stage 1 is CC (methods/cc.py). Stage 2 pulls together all pairs of views whose cosine reaches zeta.
Shapes: N images per batch, D projection width, M clusters.

docs/METHOD.md has the equations and all departures. From the released code: the weights w_ij are in the denominator
(gamma=0 leaves them out), the mean is over 2N views, and a pair is positive from s >= zeta on. From the paper: the twin
of a view is always a positive, unless twins="threshold". From the paper, by default: stage 1 warms up
(cc.py), the cluster head follows the features, a few epochs at the end train all parts jointly (stage "settle"),
zeta is found from the data (zeta.py), and a guard stops a stage 2 that fails. The paper's method is
recipes.AS_PUBLISHED.
"""

from c3clust.methods.c3.estimator import C3
from c3clust.methods.c3.loss import c3_loss, log_pair_weights, pair_weights, positive_pairs, positives_per_view
from c3clust.methods.c3.views import C3Objective

__all__ = ["C3", "C3Objective", "c3_loss", "log_pair_weights", "pair_weights", "positive_pairs", "positives_per_view"]
