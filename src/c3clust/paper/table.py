"""Table 1: all methods, NMI, ACC and ARI, mean and spread over seeds.

C3 and CC stand there twice: by the package's defaults, and as published. At the paper's size the recipe is what was
published.
"""

from collections.abc import Sequence
from pathlib import Path

from c3clust.bench import Job, Result
from c3clust.bench import table as tables
from c3clust.bench.plan import plan
from c3clust.paper.setting import Setting

ORDER = 0


def jobs(setting: Setting) -> list[Job]:
    recipe = setting.recipe_name if setting.is_paper_size else None
    found = plan([setting.data], [], setting.seeds, recipe=recipe)
    return found if setting.is_paper_size else [*found, *published(setting)]


def published(setting: Setting) -> list[Job]:
    """CC and C3 as published."""
    starts = [setting.start(seed, name="CC as published") for seed in setting.seeds]
    return [*starts, *(setting.c3(seed, name="C3 as published") for seed in setting.seeds)]


def write(setting: Setting, results: Sequence[Result], out: Path) -> list[Path]:
    tables.write(out, results, [("c3", "cc"), ("C3 as published", "CC as published")])
    return [out / name for name in ("table.md", "table.tex", "table.csv", "runs.csv", "differences.csv")]
