"""Folders in the layout of Hugging Face; the hub itself is replaced."""

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from c3clust import C3, KMeans, label, load
from c3clust.errors import InputError, MissingExtraError, RunError

huggingface_hub = pytest.importorskip("huggingface_hub")
X = np.random.default_rng(0).normal(0, 0.2, (40, 4)) + 3 * np.eye(2, 4)[np.arange(40) % 2]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of k-means with a name for a cluster, on a file with true labels."""
    folder = tmp_path_factory.mktemp("private") / "run"
    path = folder.parent / "two kinds.npz"
    np.savez(path, embeddings=X, y=np.arange(40) % 2)
    KMeans(n_clusters=2, random_state=0).fit(path, run_dir=folder)
    label(folder, {1: "the: second"})
    return folder


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def test_a_local_folder_needs_no_network(run, tmp_path, no_network):
    model = load(run)
    model.save_pretrained(tmp_path / "model")
    again = KMeans.from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert {"README.md", "model.json", "model.safetensors", "edits.json"} <= {
        p.name for p in (tmp_path / "model").iterdir()
    }
    assert again._steps()[0].names == {1: "the: second"}


def test_the_card_is_written_from_the_record(run, tmp_path):
    load(run).save_pretrained(tmp_path / "model")
    card = huggingface_hub.ModelCard.load(tmp_path / "model" / "README.md")
    assert card.data.library_name == "c3clust"
    assert "kmeans" in card.data.tags
    (accuracy,) = (each for each in card.data.eval_results if each.metric_name == "ACC")
    assert (accuracy.metric_value, accuracy.dataset_name) == (1.0, "two kinds.npz")
    for words in ("40 samples", "ACC 1.000", "1: the: second", "not calibrated", "## Limits", "seed 0"):
        assert words in card.text
    assert "private" not in (tmp_path / "model" / "README.md").read_text()  # the rest of the path


def test_a_model_without_a_run_has_a_card_too(tmp_path):
    KMeans(n_clusters=2, random_state=0).fit(X).save_pretrained(tmp_path / "model")
    assert "# 2 clusters by kmeans" in (tmp_path / "model" / "README.md").read_text()


def test_push_to_hub_uploads_the_folder(run, monkeypatch):
    seen = {}

    class Api:
        def __init__(self, token=None):
            seen["token"] = token

        def create_repo(self, repo_id, **options):
            seen.update(options, repo_id=repo_id)
            return type("Repo", (), {"repo_id": repo_id})

        def upload_folder(self, folder_path, **options):
            seen["files"] = sorted(p.name for p in Path(folder_path).iterdir())
            return "https://huggingface.co/me/two/commit/1"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Api)
    assert load(run).push_to_hub("me/two", private=True).endswith("commit/1")
    assert (seen["repo_id"], seen["private"]) == ("me/two", True)
    assert seen["files"] == ["README.md", "edits.json", "model.json", "model.safetensors"]


def test_only_an_address_is_downloaded(run, tmp_path, monkeypatch):
    seen = []
    load(run).save_pretrained(tmp_path / "model")

    def download(name, **options):
        seen.append((name, options["revision"], options["allow_patterns"]))
        return str(tmp_path / "model")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert isinstance(KMeans.from_pretrained("hf://me/two", revision="v1"), KMeans)
    assert seen[0][:2] == ("me/two", "v1")
    assert not any(pattern.endswith((".py", ".bin", ".pkl")) for pattern in seen[0][2])
    with pytest.raises(RunError, match="hf://OWNER/NAME"):
        KMeans.from_pretrained("me/two")
    with pytest.raises(RunError, match="not of C3"):
        C3.from_pretrained(tmp_path / "model")
    with pytest.raises(InputError, match="revision"):
        KMeans.from_pretrained(tmp_path / "model", revision="v1")
    assert len(seen) == 1


def test_a_hub_that_does_not_answer_is_one_sentence(no_network, monkeypatch):
    def fail(*_, **__):
        raise OSError("no route\nto the host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(RunError, match="hf://me/two cannot be downloaded: no route"):
        KMeans.from_pretrained("hf://me/two")


def test_without_the_package_the_extra_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setattr("c3clust.methods._hub.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"c3clust\[hub\]"):
        load(run).save_pretrained(tmp_path / "model")


def test_export_writes_such_a_folder(run, tmp_path, c3clust):
    done = c3clust("export", run, "--format", "hf", "--to", tmp_path / "model", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"run": str(run), "to": str(tmp_path / "model")}
    assert (tmp_path / "model" / "README.md").exists()
    assert c3clust("export", run, "--format", "hf", "--to", tmp_path / "model").returncode == 2
