import base64
import hashlib
import html
import json
import re
import shutil

import numpy as np
import pytest

from c3clust.errors import RunError
from c3clust.records.edits import Edits
from c3clust.report import View, build, editing, render, write

HOSTILE = [
    "<script>alert(1)</script>.png",
    '"><img src=x onerror=alert(1)>.png',
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "]]>&lt;b&gt;'`${alert(3)}",
    "\u2028\u2029\udcff{{ 7 * 7 }}{% raw %}.png",
]


def data_of(text: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_the_page_is_one_file_that_asks_for_nothing(made):
    text = (made.path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)\s*=\s*"?(https?:)?//', text)
    assert text.count("<script") == 3
    assert "<link" not in text


def test_the_policy_names_the_code_and_the_style_by_hash(made):
    text = (made.path / "report.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy
    for element in ("script", "style"):
        content = re.findall(rf"<{element}>(.*?)</{element}>", text, re.S)[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in html.unescape(policy)


def test_hostile_text_stays_data(run, new_record):
    names = [HOSTILE[i % len(HOSTILE)] for i in range(40)]
    view = build(
        None,
        np.random.default_rng(0).normal(size=(40, 3)),
        np.arange(40) % 3,
        None,
        names,
        np.arange(40) % 2,
        HOSTILE[:2],
    )
    record = new_record(3, 40, command=HOSTILE[2], method=HOSTILE[0], notes=HOSTILE, params={HOSTILE[1]: HOSTILE[2]})
    write(run, record, view, Edits(3).label({0: HOSTILE[0]}))
    text = (run / "report.html").read_text(encoding="utf-8")
    body = text.split("</head>")[1]
    assert body.count("<script") == 3
    assert body.count("</script>") == 3
    assert "<img" not in body
    data = data_of(text)
    assert set(data["items"]["name"]) == set(HOSTILE)
    assert data["clusters"][0]["name"] == HOSTILE[0]
    assert data["made"]["command"] == HOSTILE[2]


def test_render_needs_only_the_folder(run):
    before = (run / "report.html").read_bytes()
    (run / "report.html").unlink()
    (run / "assignments.csv").unlink()
    assert render(run).read_bytes().count(b"<script") == 3
    assert len((run / "report.html").read_bytes()) == pytest.approx(len(before), rel=0.01)
    assert not list(run.glob(".report-*"))


def test_render_says_what_is_missing(run):
    (run / "view.npz").unlink()
    with pytest.raises(RunError, match=r"view\.npz does not exist"):
        render(run)
    shutil.rmtree(run)
    with pytest.raises(RunError, match=r"record\.json does not exist"):
        render(run)


def test_edits_change_names_sizes_curves_and_scores(run, made):
    editing.label(run, {3: "sevens"})
    editing.merge(run, [3, 5])
    data = data_of(render(run).read_text(encoding="utf-8"))
    assert data["title"] == "600 images in 9 clusters"
    merged = next(c for c in data["clusters"] if c["id"] == 3)
    assert merged["name"] == "sevens"
    assert merged["merged"] == [5]
    assert merged["size"] == np.isin(made.labels, [3, 5]).sum()
    assert len(data["stages"][0]["curves"]["cluster_sizes"]["value"][0]) == 9
    assert data["scores"]["acc"] != 0.8
    assert 5 not in data["items"]["cluster"]


def test_edits_of_another_run_are_refused(run):
    (run / "edits.json").write_text('{"format": 1, "operations": [{"op": "merge", "clusters": [3, 40]}]}')
    with pytest.raises(RunError, match="no cluster 40"):
        render(run)


def test_a_run_without_confidence_labels_or_stages(tmp_path, new_record):
    view = build(None, np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 3, None, range(50))
    record = new_record(3, 50, stages=[], scores=None)
    record.write(tmp_path / "record.json")
    view.write(tmp_path)
    data = data_of(render(tmp_path).read_text(encoding="utf-8"))
    assert data["confidence"] is None
    assert data["confusion"] is None
    assert data["title"] == "50 samples in 3 clusters"


def test_the_size_limit_for_ten_thousand_pictures():
    """Of noise, the worst there is: the sheets and all else of the page together."""
    rng = np.random.default_rng(0)
    n = 10_000

    class Noise:
        shape, dtype = (n, 3, 48, 48), np.dtype(np.uint8)

        def __len__(self):
            return n

        def __getitem__(self, index):
            return rng.integers(0, 256, (len(index), 3, 48, 48), dtype=np.uint8)

    view = build(Noise(), rng.normal(size=(n, 4)), rng.integers(0, 10, n), rng.random(n), range(n), max_map=10)
    assert sum(map(len, view.sheets)) * 4 / 3 < 12_500_000
    assert isinstance(view, View)
