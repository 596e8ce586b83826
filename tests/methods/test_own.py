"""Methods that are not part of the package: named by the user, never by a file."""

import json
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from c3clust import load, methods
from c3clust.errors import InputError, RunError
from c3clust.methods import _own

MODULE = """
from pathlib import Path
import numpy as np
from c3clust.methods._base import Clusterer, parameters
from c3clust.networks.readouts import Neighbours

Path(__file__).with_suffix(".imported").write_text("")


@parameters
class Halves(Clusterer):
    \"\"\"Cluster by the mean of a sample.\"\"\"

    def _check_params(self):
        pass

    def _build_network(self, shape):
        return Neighbours(self.n_clusters_, int(np.prod(shape)))

    def _fit(self, context):
        x = context.pixels()
        order = x.mean(axis=1).argsort().argsort()
        network = self._build_network(context.shape)
        network.store(x, order * self.n_clusters_ // len(x))
        return network


class Signs:
    \"\"\"No more than scikit-learn's interface.\"\"\"

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X):
        self.labels_ = (X.mean(axis=1) > self.shift).astype(int)
        return self
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of the user's own in the current folder, and an array of two clusters."""
    (tmp_path / "mymodule.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mymodule", raising=False)
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-3, 1, (20, 4)), rng.normal(3, 1, (20, 4))])
    np.savez(tmp_path / "x.npz", x=x, y=np.repeat([0, 1], 20))
    yield tmp_path
    sys.modules.pop("mymodule", None)


def test_fit_and_bench_take_methods_of_the_user(c3clust, module):
    done = c3clust("fit", "x.npz", "-k", "2", "--method", "mymodule:Halves", "-o", "run", "--json")
    assert json.loads(done.stdout)["scores"]["acc"] == 1.0, done.stderr
    assert json.loads(done.stdout)["method"] == "mymodule:Halves"
    words = ["--methods", "kmeans", "mymodule:Signs", "sklearn.cluster:Birch", "sklearn.cluster:DBSCAN"]
    words += ["--set", "sklearn.cluster:Birch.threshold=0.4", "--set", "sklearn.cluster:DBSCAN.eps=3.0"]
    done = c3clust("bench", "x.npz", *words, "--seeds", "0", "-k", "2", "-o", "bench", "--json")
    found = {each["method"]: each for each in json.loads(done.stdout)["results"]}
    assert {name: each["status"] for name, each in found.items()} == dict.fromkeys(
        ("kmeans", "mymodule:Signs", "sklearn.cluster:Birch", "sklearn.cluster:DBSCAN"), "ok"
    ), done.stderr
    assert found["sklearn.cluster:Birch"]["scores"]["acc"] == 1.0
    assert found["mymodule:Signs"]["scores"]["acc"] == 1.0


def test_a_file_that_names_a_method_does_not_import_it(c3clust, module):
    c3clust("fit", "x.npz", "-k", "2", "--method", "mymodule:Halves", "-o", "run")
    (module / "mymodule.imported").unlink()
    sys.modules.pop("mymodule")
    with pytest.raises(RunError, match=r"names the method 'mymodule:Halves'.*only imported if you name it yourself"):
        load("run")
    done = c3clust("predict", "run", "x.npz")
    assert done.returncode == 2
    assert "--method" in done.stderr
    (module / "run" / "report.html").unlink()
    assert "--method" in c3clust("resume", "run").stderr
    assert not (module / "mymodule.imported").exists()
    assert c3clust("resume", "run", "--method", "mymodule:Halves").returncode == 0
    assert c3clust("predict", "run", "x.npz", "--method", "mymodule:Halves").returncode == 0
    assert (module / "mymodule.imported").exists()
    assert "--method" in c3clust("split", "run", "0").stderr
    assert c3clust("split", "run", "0", "--method", "mymodule:Halves").returncode == 0
    with pytest.raises(RunError, match="was made by 'mymodule:Halves', not by 'kmeans'"):
        load("run", method="kmeans")


def test_entry_points(module, monkeypatch):
    monkeypatch.setattr(_own, "entry_points", lambda group: [SimpleNamespace(name="halves", value="mymodule:Halves")])
    _own.installed.cache_clear()
    assert methods.find("halves").__name__ == "Halves"
    monkeypatch.undo()
    _own.installed.cache_clear()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:X", "cannot be imported"),
        ("json:loads", "not a clusterer"),
        ("json:Nothing", "cannot be imported"),
        ("kmean", "Did you mean kmeans"),
    ],
)
def test_what_is_no_method_is_one_sentence(name, message):
    with pytest.raises(InputError, match=message):
        methods.find(name)


def test_clusterers_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-3, 0.3, (20, 4)), rng.normal(3, 0.3, (20, 4)), [[90.0] * 4]])
    found = methods.find("sklearn.cluster:DBSCAN")(n_clusters=7, eps=2.0).fit(x)
    assert found.n_clusters_ == 3  # two clusters, and noise
    mixture = methods.find("sklearn.mixture:GaussianMixture")(n_clusters=2, random_state=0).fit(x[:40])
    assert mixture.n_clusters_ == 2
    assert len(set(mixture.labels_[:20])) == 1
