"""Starts: shared where they are the same, part of the key where they are given, and trained on without a difference."""

import numpy as np
from PIL import Image

from c3clust import CC, bench
from c3clust.bench import Job
from c3clust.bench.plan import plan


def start_of(settings=(), recipe="c3-digits"):
    """The jobs of CC and C3, seed 0."""
    return plan(["digits"], ["cc", "c3"], [0], settings=settings, recipe=recipe)


def test_c3_by_views_starts_from_the_cc_of_its_seed():
    jobs = plan(["digits"], ["cc", "c3"], [0, 1], recipe="c3-digits")
    assert [job.start and job.start.key for job in jobs] == [None, None, jobs[0].key, jobs[1].key]
    cc, c3 = start_of(["c3.zeta=0.7"], recipe=None)  # zeta belongs to views
    assert c3.start.key == cc.key
    cc, c3 = start_of(["c3.cc_epochs=7"])
    assert c3.start.key != cc.key
    assert c3.start.params["epochs"] == 7
    cc, c3 = start_of(["c3.cc_epochs=7", "cc.epochs=7"])
    assert c3.start.key == cc.key


def test_c3_starts_from_the_cc_of_its_seed_whatever_the_data(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(12):
        (tmp_path / "ab"[i % 2]).mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (9, 9, 3), dtype=np.uint8)).save(tmp_path / "ab"[i % 2] / f"{i}.png")
    jobs = plan([str(tmp_path)], ["cc", "c3"], [0, 1], labels="folders")
    assert [job.start and job.start.key for job in jobs] == [None, None, jobs[0].key, jobs[1].key]
    assert {job.start.params["n_clusters"] for job in jobs[2:]} == {2}


def test_a_start_of_its_own_and_a_budget_train_no_other_cc(tmp_path):
    given = start_of([f"c3.start={tmp_path}"])[1]
    assert (given.start, given.params["start"]) == (None, str(tmp_path))
    assert plan(["digits"], ["c3"], [0], budget=5.0)[0].start is None


def test_the_content_of_a_given_start_is_part_of_the_key(tmp_path):
    for name, content in (("a.tar", b"one"), ("b.tar", b"one"), ("c.tar", b"two")):
        (tmp_path / name).write_bytes(content)
    planned = {
        name: plan(["digits"], ["cc", "c3", "kmeans"], [0], start=str(tmp_path / name))
        for name in ("a.tar", "b.tar", "c.tar")
    }
    keys = {name: [job.key for job in jobs] for name, jobs in planned.items()}
    assert keys["a.tar"] == keys["b.tar"]
    assert keys["a.tar"][:2] != keys["c.tar"][:2]
    assert keys["a.tar"][2] == keys["c.tar"][2]
    cc, c3, _ = planned["a.tar"]
    assert (cc.params["epochs"], cc.params["start"]) == (0, str(tmp_path / "a.tar"))
    assert c3.start.key == cc.key
    (tmp_path / "a.tar").write_bytes(b"three")
    assert plan(["digits"], ["cc"], [0], start=str(tmp_path / "a.tar"))[0].key != keys["a.tar"][0]


def test_the_command(c3clust, three_kinds, tmp_path):
    start = CC(3, epochs=2, random_state=5).fit(three_kinds)
    start.save(tmp_path / "start")
    words = ("bench", three_kinds, "--methods", "cc", "c3", "--seeds", "0", "--set", "c3.epochs=1", "-q")
    done = c3clust(*words, "--start", tmp_path / "start", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    jobs = {job.method: job for job in bench.remember(tmp_path / "out", [])}
    cc, c3 = (bench.result_of(tmp_path / "out", jobs[name]) for name in ("cc", "c3"))
    assert cc.labels.tolist() == start.labels_.tolist()
    assert [stage["name"] for stage in c3.record.stages] == ["c3"]
    assert c3.start.folder == cc.folder
    lost = c3clust(*words, "--start", tmp_path / "nowhere", "-o", tmp_path / "out")
    assert (lost.returncode, "nowhere does not exist" in lost.stderr) == (2, True)


def test_cc_that_is_trained_on_is_the_longer_cc_bit_for_bit(three_kinds, tmp_path):
    params = {"n_clusters": 3}
    short = Job(three_kinds, "cc", params | {"epochs": 2}, name="short")
    longer = Job(three_kinds, "cc", params | {"epochs": 4}, after=short)
    whole = Job(three_kinds, "cc", params | {"epochs": 4})
    assert Job.from_plain(longer.plain()).after == short
    assert longer.key == whole.key
    ended = []
    (one,) = bench.run([longer], tmp_path / "one", 1, ended.append)
    (other,) = bench.run([whole], tmp_path / "other")
    assert [result.job.name for result in ended] == ["short", "cc"]
    assert one.notes == ["The run continues one with fewer epochs, in stage 1 after epoch 2."]
    assert other.notes == []
    files = [result.run / "model.safetensors" for result in (one, other)]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert one.epochs("cc") == other.epochs("cc")
    assert len(one.epochs("cc")) == len(one.curve("cc", "loss")) == 4
