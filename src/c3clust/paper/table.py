"""Table 1: all methods, NMI, ACC and ARI, mean and spread over seeds.

Network and budget come from the dataset's recipe. C3 and CC are listed twice: with the package's defaults, and as
published; for the paper's datasets the recipe is what was published. C3 starts from the CC of its seed, which is
trained once; its times include that. five.md and five.csv are the paper's own table, its five datasets with the cited
scores and ours beside them.
"""

from pathlib import Path

from c3clust.bench import Job
from c3clust.bench.format import FILES
from c3clust.bench.format import write as write_tables
from c3clust.bench.paper_table import five
from c3clust.bench.plan import plan
from c3clust.bench.statistics import rows as table_rows
from c3clust.files.atomic import write_atomically
from c3clust.paper.setting import Setting
from c3clust.paper.values import Results

ORDER = 0
SEVERAL = True


def jobs(setting: Setting) -> list[Job]:
    planned = plan([setting.data], setting.methods, setting.seeds, recipe=setting.recipe_name, start=setting.network)
    planned = [setting.default_c3(job.seed, job.name) if job.method == "c3" else job for job in planned]
    some = setting.methods and not {"cc", "c3"} & set(setting.methods)
    return planned if setting.is_paper_size or some else [*planned, *published(setting)]


def published(setting: Setting) -> list[Job]:
    starts = [setting.start(seed, name="CC as published") for seed in setting.seeds]
    return [*starts, *(setting.c3(seed, name="C3 as published") for seed in setting.seeds)]


def write(setting: Setting, results: Results, out: Path) -> list[Path]:
    write_tables(out, results, [("c3", "cc"), ("C3 as published", "CC as published")])
    text, numbers = five(table_rows(results))
    write_atomically(out / "five.md", text.encode())
    write_atomically(out / "five.csv", numbers.encode())
    return [out / name for name in (*FILES, "five.md", "five.csv")]
