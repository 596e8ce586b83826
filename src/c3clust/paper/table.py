"""Table 1: all methods, NMI, ACC and ARI, mean and spread over seeds.

Network and budget come from the recipe of the data set. C3 and CC stand there twice: as the package has them, and as
published. At the paper's size the recipe is what was published. C3 starts from the CC of its seed, which is trained
once; its times include that.
"""

from collections.abc import Sequence
from pathlib import Path

from c3clust.bench import Job, Result
from c3clust.bench import table as tables
from c3clust.bench.plan import plan
from c3clust.paper.setting import Setting

ORDER = 0


def jobs(setting: Setting) -> list[Job]:
    found = plan([setting.data], [], setting.seeds, recipe=setting.recipe_name)
    found = [setting.default_c3(job.seed, job.name) if job.method == "c3" else job for job in found]
    return found if setting.is_paper_size else [*found, *published(setting)]


def published(setting: Setting) -> list[Job]:
    """CC and C3 as published."""
    starts = [setting.start(seed, name="CC as published") for seed in setting.seeds]
    return [*starts, *(setting.c3(seed, name="C3 as published") for seed in setting.seeds)]


def write(setting: Setting, results: Sequence[Result], out: Path) -> list[Path]:
    tables.write(out, results, [("c3", "cc"), ("C3 as published", "CC as published")])
    return [out / name for name in ("table.md", "table.tex", "table.csv", "runs.csv", "differences.csv")]
