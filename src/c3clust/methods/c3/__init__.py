"""C3: cross-instance guided contrastive clustering.

Sadeghi, Hojjati, Armanfard, BMVC 2023, https://arxiv.org/abs/2211.07136
Stage 1 is CC (methods/cc.py). Stage 2 pulls together all pairs of views whose cosine reaches zeta.
Shapes: N images per batch, D projection width, M clusters.

This is the paper's method; what the package changes in it is C3Adaptive (methods/c3_adaptive). docs/METHOD.md has the
equations and all departures. From the released code: the weights w_ij are in the denominator (gamma=0 leaves them out),
the mean is over 2N views, and a pair is positive from s >= zeta on. From the paper: the twin of a view is always a
positive, as in the released code, unless twins="threshold". Only budgets follow a rule of the package: the epochs, and
the learning rates of small networks.
"""

from c3clust.methods.c3.estimator import C3, C3Objective
from c3clust.methods.c3.loss import c3_loss, log_pair_weights, pair_weights, positive_pairs, positives_per_view

__all__ = ["C3", "C3Objective", "c3_loss", "log_pair_weights", "pair_weights", "positive_pairs", "positives_per_view"]
