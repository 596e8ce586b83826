"""How long a fit takes, told before and while it runs."""

import pytest

from c3clust.training import Stage, forecast
from c3clust.training.forecast import Forecast, faster_way


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand."""
    now = [0.0]
    monkeypatch.setattr(forecast.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(forecast, "FIRST", 3)

    def passed(seconds):
        now[0] += seconds

    return passed


def test_the_whole_run_is_estimated_from_its_first_steps(clock):
    told = Forecast([Stage("one", 10, 8, 1e-3), Stage("two", 20, 8, 1e-3)], faster="A smaller size is faster.")
    told.begin(0, 10, 4)
    clock(2)  # the evaluation before the first step
    told.ready()
    for _ in range(2):
        clock(1)
        told.step()
    assert told.left is None
    assert told.news() is None
    clock(1)
    told.step()
    assert told.left == 30 * (4 + 2) - 3
    assert told.news() == "Training takes about 3 min (epochs: one 10, two 20)."
    assert told.news() is None  # once
    clock(1)
    told.step()
    clock(2)
    told.epoch()
    assert told.left == 29 * 6


def test_a_first_evaluation_that_loads_code_is_not_taken_for_all(clock):
    told = Forecast([Stage("one", 10, 8, 1e-3)])
    told.begin(0, 10, 4)
    clock(60)
    told.ready()
    for _ in range(3):
        clock(1)
        told.step()
    assert told.left == 10 * (4 + 2) - 3


def test_slow_first_steps_do_not_count(monkeypatch):
    told, now = Forecast([Stage("one", 10, 8, 1e-3)]), [0.0]
    monkeypatch.setattr(forecast.time, "perf_counter", lambda: now[0])
    told.begin(0, 10, 20)
    told.ready()
    for seconds in (9, 9, 1, 1, 1, 1, 1, 1):
        assert told.left is None
        now[0] += seconds
        told.step()
    assert told.left == 10 * 20 - 8


def test_a_long_run_names_the_faster_way_and_each_stage_is_told(clock):
    told = Forecast([Stage("one", 1, 8, 1e-3), Stage("two", 100, 8, 1e-3)], faster="A smaller size is faster.")
    told.begin(0, 1, 1)
    told.ready()
    clock(10)
    told.step()
    assert told.news().endswith("(epochs: one 1, two 100). A smaller size is faster.")
    told.begin(1, 100, 1)
    told.ready()
    clock(10)
    told.step()
    assert told.news() == "Training takes about 16 min more."


@pytest.fixture
def steps(clock, monkeypatch):
    """Three steps of 10 s each, of which each uses so many seconds of CPU time."""
    used = [0.0]
    monkeypatch.setattr(forecast.time, "process_time", lambda: used[0])

    def train(told, cpu_seconds):
        told.begin(0, 80, 3)
        told.ready()
        for _ in range(3):
            clock(10)
            used[0] += cpu_seconds
            told.step()
        return told.news()

    return train


def test_the_time_without_other_programs_is_told_too(steps):
    for on_cpu, told in ((True, "about 40 min, or 4 min without the other programs on"), (False, "about 40 min (ep")):
        busy = Forecast([Stage("one", 80, 8, 1e-3)], faster="A smaller size is faster.", on_cpu=on_cpu)
        news = steps(busy, 1)
        assert told in news
        assert news.endswith("A smaller size is faster.") == (not on_cpu)  # that of 4 min is not needed


def test_two_threads_alone_are_not_busy(steps):
    told = Forecast([Stage("one", 80, 8, 1e-3)], on_cpu=True)
    assert steps(told, 18) == "Training takes about 40 min (epochs: one 80)."


def test_short_training_needs_no_line(clock):
    told = Forecast([Stage("one", 2, 8, 1e-3)])
    told.begin(0, 2, 1)
    told.ready()
    clock(1)
    told.step()
    assert told.news() is None


def test_the_faster_way_depends_on_the_samples():
    assert "encoder" in faster_way((3, 128, 128), "photograph")
    assert "image_size" in faster_way((1, 64, 64), "handwriting")
    assert "epochs" in faster_way((1, 28, 28), "handwriting")
    assert faster_way((512,), "vector") is None


def test_a_fit_tells_it_and_the_result_is_the_same(c3clust, three_kinds, tmp_path, monkeypatch):
    monkeypatch.setattr(forecast, "SHORT", 0)
    monkeypatch.setattr(forecast, "LONG", 0)
    words = [
        "fit",
        three_kinds,
        "-k",
        "3",
        "--method",
        "c3_adaptive",
        "--set",
        "cc_epochs=2",
        "--no-guard",
        "--set",
        "warmup=0.5",
        "--set",
        "epochs=1",
    ]
    done = c3clust(*words, "-o", tmp_path / "told")
    assert "Training takes about" in done.stderr
    assert "(epochs: warmup 1, cc 1, c3 1, settle 1). Fewer epochs (--set)" in done.stderr
    quiet = c3clust(*words, "-o", tmp_path / "quiet", "--quiet")
    assert quiet.stderr == ""
    assert (tmp_path / "told" / "assignments.csv").read_text() == (tmp_path / "quiet" / "assignments.csv").read_text()
