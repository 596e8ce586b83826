"""Table 1: all methods, NMI, ACC and ARI, mean and spread over seeds.

Network and budget come from the dataset's recipe. C3 starts from the CC of its seed, which is trained once; its times
include that. five.md and five.csv are the paper's own table, its five datasets with the cited
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
    return plan([setting.data], setting.methods, setting.seeds, recipe=setting.recipe_name, start=setting.network)


def write(setting: Setting, results: Results, out: Path) -> list[Path]:
    write_tables(out, results, [("c3", "cc")])
    text, numbers = five(table_rows(results))
    write_atomically(out / "five.md", text.encode())
    write_atomically(out / "five.csv", numbers.encode())
    return [out / name for name in (*FILES, "five.md", "five.csv")]
