"""Many runs: methods × data × seeds, each in a folder of its own, each done once, all in worker processes.

    job.py      Job: what to run, and the key that names its folder; Result: what came of it
    pool.py     run(jobs, out): starts before what starts from them, several at a time, finished ones left alone
    worker.py   the process that does them: `python -m c3clust.bench.worker OUT`
    watch.py    scores and pairs after each epoch, seen from outside of training
    plan.py     sources × methods × seeds -> jobs
    table.py    results -> rows, Markdown, LaTeX, CSV; pairs of methods compared seed by seed
    cited.csv   the paper's own table

>>> from c3clust.bench import Job
>>> cc = Job("digits", "cc", {"n_clusters": 10}, seed=0)
>>> c3 = Job("digits", "c3", {"n_clusters": 10, "head": "frozen"}, seed=0, name="C3, frozen head", start=cc)
>>> c3.key == Job("digits", "c3", {"head": "frozen"}, start=cc).key  # 10 clusters are the default
True

`run([c3], "out", workers=2)` trains CC, then C3 from it, and gives one Result for each job asked for.
"""

from c3clust.bench.job import Job, Result, folder_of, remember, result_of
from c3clust.bench.pool import run

__all__ = ["Job", "Result", "folder_of", "remember", "result_of", "run"]
