"""Training: one loop for all methods.

loop.py         `train`: one stage, from the first batch to the last epoch
context.py      `TrainingContext`: the samples, views, randomness and device that a method trains with
objective.py    what the loop requires of a method
features/neighbours.py   neighbours in a learned space, as partners
adam.py         its optimiser
optimisers.py   other optimisers, and learning rates, by name
batch.py        what an objective is given
order.py        which samples each step sees
embed.py        networks without gradient
forecast.py     how long it takes
log.py          what it logs, for a function of the user
checkpoint.py   all that changes while a stage is trained, on disk
"""

from c3clust.training.adam import Adam
from c3clust.training.batch import Batch
from c3clust.training.context import TrainingContext
from c3clust.training.embed import embed, encode_views
from c3clust.training.log import log_to
from c3clust.training.loop import Stage, auto_epochs, train

__all__ = ["Adam", "Batch", "Stage", "TrainingContext", "auto_epochs", "embed", "encode_views", "log_to", "train"]
