"""The server without a browser: who is let in, what is served, and what is written."""

import io
import json

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from c3clust import data
from c3clust.data.samples import Texts
from c3clust.errors import DataError, RunError
from c3clust.methods._review import ReviewedRun
from c3clust.records.state import State
from c3clust.report import editing
from c3clust.review.samples import Shown
from c3clust.review.server import _bound, application
from c3clust.review.session import Session

HOST = "127.0.0.1:8000"
HERE = {"origin": f"http://{HOST}"}


class Client:
    """A page that is let in."""

    def __init__(self, session):
        self.session, self.client = session, TestClient(application(session, "key", 8000), base_url=f"http://{HOST}")

    def get(self, path, **headers):
        return self.client.get(f"/key/{path}", headers=headers)

    def post(self, path, body, **headers):
        return self.client.post(f"/key/{path}", json=body, headers={**HERE, **headers})

    def do(self, action, **values):
        version = self.get("api/state").json()["version"]
        return self.post("api/do", {"action": action, "version": version, **values}).json()


@pytest.fixture
def client(run):
    session = Session(ReviewedRun(run))
    yield Client(session)
    session.close()


def test_the_page_and_its_parts_are_served_with_a_strict_policy(client):
    page = client.get("")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    for name in ("app.js", "grid.js", "store.js", "dom.js", "panel.js", "base.css", "style.css"):
        assert client.get(f"static/{name}").status_code == 200, name


def test_nothing_is_served_without_the_token(client):
    for path in ("/", "/api/state", "/other/api/state", "/static/app.js", "/thumb/0", "/ke/", "/keyy/api/state"):
        assert client.client.get(path).status_code == 403, path


def test_other_hosts_and_origins_are_refused(client):
    assert client.get("api/state", host="evil.example:8000").status_code == 403
    assert client.get("api/state", host="127.0.0.1:9000").status_code == 403
    assert client.get("api/state", origin="http://evil.example").status_code == 403
    assert client.get("api/state", **{"sec-fetch-site": "cross-site"}).status_code == 403
    body = {"action": "undo", "version": 1}
    assert client.post("api/do", body, origin="http://evil.example").status_code == 403
    assert client.post("api/do", body, origin="null").status_code == 403
    assert client.client.post("/key/api/do", json=body).status_code == 403  # without an origin
    plain = client.client.post("/key/api/do", content=json.dumps(body), headers={**HERE, "content-type": "text/plain"})
    assert plain.status_code == 403
    assert client.client.options("/key/api/do", headers={"origin": "http://evil.example"}).status_code == 403


def test_no_other_file_can_be_asked_for(client, run):
    for path in ("static/../server.py", "static/%2e%2e/server.py", "static//etc/passwd", "thumb/../record.json"):
        assert client.get(path).status_code in (403, 404), path
    assert client.get("thumb/300").status_code == 404
    assert client.get("thumb/-1").status_code == 404
    assert client.get("whole/99999").status_code == 404


def test_thumbnails_and_originals_are_images(client):
    for path in ("thumb/3", "whole/3"):
        found = client.get(path)
        assert found.headers["content-type"] == "image/webp"
        assert Image.open(io.BytesIO(found.content)).size == (8, 8)


def test_the_state_is_that_of_the_run(client, run):
    now, found = State.read(run), client.get("api/state").json()
    assert found["labels"] == now.assignments.clusters.tolist()
    assert {each["cluster"] for each in found["clusters"]} == set(range(10))
    assert client.get(f"api/state?version={found['version']}").json().keys() == {"version", "ready"}
    editing.label(run, {3: "threes"})  # by the command line
    again = client.get(f"api/state?version={found['version']}").json()
    assert next(each["name"] for each in again["clusters"] if each["cluster"] == 3) == "threes"


def test_each_action_is_written_at_once_and_undone(client, run, clusters_of):
    before = clusters_of(run)
    here = [i for i, m in enumerate(before) if m == 2][:5]
    cases = {
        "move": ({"samples": here, "cluster": 4}, lambda now: {now[i] for i in here} == {4}),
        "new": ({"samples": here, "name": "mine"}, lambda now: {now[i] for i in here} == {10}),
        "nowhere": ({"samples": here}, lambda now: {now[i] for i in here} == {-1}),
        "confirm": ({"samples": here}, lambda now: {now[i] for i in here} == {2}),
        "label": ({"cluster": 2, "name": "twos"}, lambda now: now == before),
        "merge": ({"clusters": [2, 3]}, lambda now: 3 not in now),
        "split": ({"cluster": 2, "into": 2}, lambda now: 10 in now),
        "regroup": ({"n_clusters": 4}, lambda now: set(now) == set(range(4))),
    }
    assert {*cases, "undo", "answer", "skip", "check", "judge", "unjudge"} == set(client.session.actions)
    for action, (values, expected) in cases.items():
        found = client.do(action, **values)
        assert "error" not in found, found
        assert expected(clusters_of(run)), action
        assert found["labels"] == clusters_of(run)
        assert found["undoable"] == 1
        assert client.do("undo")["undoable"] == 0
        assert clusters_of(run) == before
    assert "nothing to undo" in client.do("undo")["error"]


def test_an_action_on_clusters_that_have_changed_is_refused(client, run, clusters_of):
    version = client.get("api/state").json()["version"]
    editing.merge(run, [0, 1])
    before = clusters_of(run)
    answer = client.post("api/do", {"action": "undo", "version": version})
    assert answer.status_code == 409
    assert "changed" in answer.json()["error"]
    assert answer.json()["labels"] == before == clusters_of(run)


@pytest.mark.parametrize(
    "body",
    [
        {"action": "move", "samples": [], "cluster": 1},
        {"action": "move", "samples": [300], "cluster": 1},
        {"action": "move", "samples": [True], "cluster": 1},
        {"action": "move", "samples": ["../x"], "cluster": 1},
        {"action": "move", "samples": [0], "cluster": 77},
        {"action": "move", "samples": [0]},
        {"action": "label", "cluster": 1, "name": "a\nb"},
        {"action": "merge", "clusters": [1]},
        {"action": "split", "cluster": 1, "into": 1},
        {"action": "close"},
    ],
)
def test_a_wrong_request_is_a_sentence_and_changes_nothing(client, run, body):
    answer = client.post("api/do", {**body, "version": client.get("api/state").json()["version"]})
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")
    assert not (run / "edits.json").exists()


def test_neighbours_and_all_like_this(client):
    client.session.teacher  # noqa: B018, waits for the model
    found = client.get("api/sample/0").json()
    assert len(found["neighbours"]) == 8
    assert 0 not in found["neighbours"]
    labels = client.get("api/state").json()["labels"]
    like = client.post("api/like", {"samples": [0]}).json()
    assert 0 in like
    assert 1 < len(like) < labels.count(labels[0])
    assert {labels[i] for i in like} == {labels[0]}


def test_a_photograph_is_shown_upright_in_its_own_aspect(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (400, 200), "red").save(tmp_path / "a.jpg", exif=exif)
    shown = Shown(data.load_listed(str(tmp_path)), ["a.jpg"])
    assert Image.open(io.BytesIO(shown.thumb(0))).size == (96, 192)
    assert Image.open(io.BytesIO(shown.whole(0))).size == (200, 400)
    (tmp_path / "a.jpg").write_bytes(b"gone")
    with pytest.raises(DataError, match="cannot be read"):
        shown.whole(0)


def test_questions_are_answered_and_what_follows_is_undone(client, run, clusters_of):
    client.session.teacher  # noqa: B018, waits for the model
    before, kinds = clusters_of(run), set()
    for _ in range(16):
        found = client.get("api/question").json()["question"]
        kinds.add(found["kind"])
        answer = "nowhere" if found["kind"] == "where" else "no"
        now = client.do("answer", answer=answer)
        assert "error" not in now
        if answer == "nowhere":
            assert now["labels"][found["samples"][0]] == -1
        assert now["labels"] == clusters_of(run)
    assert {"pair", "where"} <= kinds
    assert "out of date" in client.do("answer", answer="no")["error"]
    for _ in range(16):
        client.do("undo")
    assert clusters_of(run) == before


def test_a_pair_that_is_one_is_merged_and_a_skipped_question_not_asked_again(client, run, clusters_of):
    client.session.teacher  # noqa: B018, waits for the model
    found = client.get("api/question").json()["question"]
    assert found["kind"] == "pair"
    assert [len(side) for side in found["sides"]] == [8, 8]
    client.do("skip")
    second = client.get("api/question").json()["question"]
    assert second != found
    while second["kind"] != "pair":
        client.do("skip")
        second = client.get("api/question").json()["question"]
    client.do("answer", answer="yes")
    assert max(second["clusters"]) not in clusters_of(run)
    client.get("api/question")
    assert "not an answer" in client.do("answer", answer="perhaps")["error"]


def test_samples_near_a_moved_one_follow_and_none_that_a_person_placed(client, run, clusters_of):
    client.session.teacher  # noqa: B018, waits for the model
    before = clusters_of(run)
    inside = [i for i, m in enumerate(before) if m == before[0]]
    kept = inside[-3:]
    client.do("confirm", samples=kept)
    now = client.do("new", samples=client.post("api/like", {"samples": [0]}).json()[:4], name="")
    assert [now["labels"][i] for i in kept] == [before[0]] * 3
    assert now["followed"] == sum(a != b for a, b in zip(before, now["labels"], strict=True)) - 4


def test_samples_follow_into_a_new_cluster_only_from_where_its_own_came(client, run, clusters_of):
    client.session.teacher  # noqa: B018, waits for the model
    before = np.array(clusters_of(run))
    for cluster in range(10):
        now = client.do("new", samples=np.flatnonzero(before == cluster)[:3].tolist(), name="")
        assert set(before[before != now["labels"]].tolist()) == {cluster}
        client.do("undo")


def test_thirty_checks_give_an_interval(client, run):
    drawn = client.do("check")["check"]["left"]
    assert len(set(drawn)) == 30
    for k, i in enumerate(drawn):
        found = client.do("judge", sample=i, right=k % 10 > 0)["check"]
        assert found["done"] == k + 1
    again = client.do("unjudge")["check"]
    assert again["left"] == [drawn[29]]
    found = client.do("judge", sample=drawn[29], right=True)["check"]
    result = found["result"]
    assert result["estimate"] == 0.9
    assert result["low"] < 0.9 < result["high"]
    assert result["more"] > 30
    assert not found["stale"]
    assert client.do("merge", clusters=[0, 1])["check"]["stale"]
    assert "not among" in client.do("judge", sample=next(i for i in range(300) if i not in drawn), right=True)["error"]
    (run / "checks.json").write_text("[]", encoding="utf-8")
    assert "damaged" in client.get("api/state").json()["error"]


def test_search_finds_names(client):
    found = client.post("api/search", {"text": client.session.names[17]}).json()
    assert found["samples"].count(17) == 1
    assert not found["meant"]
    client.session.teacher  # noqa: B018, waits for the model
    assert client.post("api/search", {"text": "a threshing floor"}).json() == {"samples": [], "meant": False}


def test_words_that_no_sample_contains_find_the_nearest_in_meaning_where_the_encoder_reads(client, monkeypatch):
    z = client.session.teacher.z
    monkeypatch.setattr(client.session.run, "z_of", lambda text: z[17])
    found = client.post("api/search", {"text": "a threshing floor"}).json()
    assert found["samples"][0] == 17
    assert len(found["samples"]) == 24
    assert found["meant"]


def test_table_rows_are_cards(tmp_path, c3clust):
    rows = [f"{m * 10 + i % 3},{('apple', 'boat', 'cloud')[m]}" for m in range(3) for i in range(12)]
    (tmp_path / "rows.csv").write_text("\n".join(["size,kind", *rows]), encoding="utf-8")
    c3clust("fit", tmp_path / "rows.csv", "-k", "3", "--method", "kmeans", "-o", tmp_path / "run")
    session = Session(ReviewedRun(tmp_path / "run"))
    found = Client(session)
    assert found.get("api/about").json()["noun"] == "row"
    assert found.post("api/cards", {"samples": [0, 12]}).json() == ["size 0, kind apple", "size 10, kind boat"]
    assert found.post("api/search", {"text": "boat 12"}).json()["samples"] == [14, 17, 20, 23]
    assert found.get("thumb/0").status_code == 404
    session.close()


def test_texts_are_cards():
    texts = Texts(np.array(["one line", "x" * 1000], dtype=object), ["0", "1"])
    shown = Shown(texts, ["0", "1"])
    assert shown.text(0) == "one line"
    assert len(shown.text(1)) == 400


def test_files_that_follow_are_written_at_the_end(run, clusters_of):
    session = Session(ReviewedRun(run))
    session.label(3, "threes")
    session.close()
    assert "threes" in (run / "assignments.csv").read_text(encoding="utf-8")
    assert "threes" in (run / "clusters.csv").read_text(encoding="utf-8")


def test_only_this_computer_can_connect():
    with _bound(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        with pytest.raises(RunError, match="cannot be used"):
            _bound(listening.getsockname()[1])


def test_a_run_of_somebody_else_needs_its_source(run, fitted, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    with pytest.raises(RunError, match="--source"):
        ReviewedRun(run)
    assert len(ReviewedRun(run, source=f"{fitted}.npy").listed()) == 300
