"""Ray Data with two local workers, one of which is killed on the way, gives what `predict` gives."""

import os
import signal

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from c3clust import KMeans
from c3clust.batch import Assigner, open_model

if os.environ.get("C3CLUST_REQUIRE_RAY"):
    import ray
else:
    ray = pytest.importorskip("ray", reason="ray is not installed (it is in CI: .ci/run)")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ray itself


def killed_once(told):
    """An Assigner whose process is killed in the middle of the work, once: it makes the file `told`."""

    class KilledOnce(Assigner):
        def __call__(self, batch):
            if int(batch["id"][0]) > 300 and not told.exists():
                told.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batch)

    return KilledOnce


@pytest.fixture(scope="module")
def local():
    """A local Ray, with room for two workers and the tasks that read."""
    normal = {"worker_niceness": 0}  # by default workers give way to all else, and stand still on a busy machine
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(num_cpus=4, object_store_memory=2**27, _system_config=normal, **quiet)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.mark.timeout(1200)  # Ray starts about ten processes
def test_two_workers_of_which_one_is_killed(local, tmp_path):
    random, n = np.random.default_rng(0), 600
    x = (random.normal(size=(n, 6)) + 8 * np.eye(6)[np.arange(n) % 3]).astype(np.float32)
    KMeans(n_clusters=3, random_state=0).fit(x[:300], run_dir=tmp_path / "run")
    (tmp_path / "shards").mkdir()
    for i in range(6):
        rows = range(i * 100, (i + 1) * 100)
        table = pyarrow.table({"id": list(rows), "embedding": x[rows.start : rows.stop].tolist()})
        parquet.write_table(table, tmp_path / "shards" / f"{i:02}.parquet")
    told = tmp_path / "killed"
    found = ray.data.read_parquet(str(tmp_path / "shards"), override_num_blocks=6).map_batches(
        killed_once(told),
        fn_constructor_args=[str(tmp_path / "run")],
        batch_size=50,
        concurrency=2,
    )
    rows = sorted(found.take_all(), key=lambda row: row["id"])
    expected = open_model(tmp_path / "run")[0].assign(x)
    assert told.exists(), "no worker was killed"
    assert [row["id"] for row in rows] == list(range(n))
    assert [row["cluster"] for row in rows] == expected.clusters.tolist()
    np.testing.assert_allclose([row["confidence"] for row in rows], expected.confidence, rtol=1e-5)
