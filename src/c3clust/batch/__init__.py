"""A fitted model on any number of machines: callables for frameworks that map over batches, and a map over shards.

`Assigner` and `Encoder` are given to Ray Data, Daft, Spark or a loop of your own: a batch in, the same batch with new
columns out. They are small, can be pickled, and load their model once per process. `map_shards` is
`c3clust predict RUN shards/ --to parts/`, `merge_parts` is `c3clust merge-parts`. docs/SCALING.md has examples of each.
"""

from c3clust.batch.callables import Assigner, Encoder
from c3clust.batch.merge import Merged, merge_parts
from c3clust.batch.models import open_model
from c3clust.batch.parts import Mapped, map_shards
from c3clust.batch.shards import parse_part, shards_of

__all__ = [
    "Assigner", "Encoder", "Mapped", "Merged", "map_shards", "merge_parts", "open_model", "parse_part", "shards_of",
]  # fmt: skip
