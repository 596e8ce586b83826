"""The key of a job, and the job as JSON."""

import json

from c3clust.bench import Job, folder_of
from c3clust.bench.plan import plan


def cc(three_kinds, seed=0, epochs=6):
    return Job(three_kinds, "cc", {"n_clusters": 3, "epochs": epochs}, seed)


def test_the_key_is_the_content(three_kinds):
    job = cc(three_kinds)
    assert job.key == Job(three_kinds, "cc", dict(reversed(job.params.items())), name="other").key
    others = [
        cc(three_kinds, 1),
        cc(three_kinds, epochs=4),
        Job(three_kinds, "c3", {}),
        Job(three_kinds, "c3", {}, start=job),
    ]
    others += [Job("digits", "cc", job.params), Job(three_kinds, "cc", job.params, options={"image_size": 8})]
    assert len({job.key, *(other.key for other in others)}) == 7
    assert Job.from_plain(json.loads(json.dumps(others[3].plain()))) == others[3]
    assert Job(three_kinds, "cc", job.params | {"verbose": True, "device": "cpu"}).key == job.key


def test_the_key_contains_the_content_of_a_saved_start(tmp_path):
    """`--set c3.start=X` gives another job for another model, also if it replaces the first one in its folder."""
    for name, content in (("a", "one"), ("b", "two"), ("copy of a", "one")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.json").write_text(content)
    first, second, same = (
        plan(["digits"], ["c3"], [0], settings=[f"c3.start={tmp_path / name}"])[0] for name in ("a", "b", "copy of a")
    )
    assert len({first.key, second.key, plan(["digits"], ["c3"], [0])[0].key}) == 3
    assert first.key == same.key
    assert folder_of(tmp_path, first) != folder_of(tmp_path, second)
    (tmp_path / "a" / "model.json").write_text("three")
    assert Job.from_plain(first.plain()).key != first.key


def test_a_relative_start_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "start").mkdir()
    (job,) = plan(["digits"], ["c3"], [0], settings=["c3.start=start"])
    assert job.params["start"] == str(tmp_path / "start")
