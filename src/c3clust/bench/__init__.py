"""Many runs: methods × datasets × seeds, one folder per run, each run once, all in worker processes.

>>> from c3clust.bench import Job
>>> cc = Job("digits", "cc", {"n_clusters": 10}, seed=0)
>>> c3 = Job("digits", "c3", {"n_clusters": 10, "head": "frozen"}, seed=0, name="C3, frozen head", start=cc)
>>> c3.key == Job("digits", "c3", {"n_clusters": 10, "head": "frozen"}, start=cc).key  # the name is no setting
True

`run([c3], "out", workers=2)` trains CC, then C3 from it, and returns one Result per job.
"""

from c3clust.bench.job import Job, Result, folder_of, remember, result_of
from c3clust.bench.pool import run

__all__ = ["Job", "Result", "folder_of", "remember", "result_of", "run"]
