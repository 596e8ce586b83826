"""One meaning of recipe, settings and options, for the command line, bench and paper."""

import numpy as np
import pytest

from c3clust import data
from c3clust.errors import InputError
from c3clust.recipes.resolve import absolute, resolve


def test_later_values_win_over_earlier_ones():
    run = resolve(
        recipe="c3-digits", settings=["epochs=7", "encoder=none"], params={"encoder": "auto", "outliers": True}
    )
    assert (run.source, run.method, run.params["n_clusters"]) == ("digits", "c3", 10)
    assert (run.params["cc_epochs"], run.params["epochs"]) == (60, 7)
    assert (run.params["encoder"], run.params["outliers"]) == ("none", True)
    assert resolve(recipe="c3-digits", source="mnist", n_clusters=3).params["n_clusters"] == 3


def test_a_recipe_of_c3_means_stage_1_for_cc():
    run = resolve("cc", "c3-cifar10")
    assert (run.params["epochs"], run.params["schedule"], run.params["lr"]) == (1000, "constant", 3e-4)
    assert (run.params["image_size"], run.options) == (224, {"image_size": 224})
    assert resolve("kmeans", "c3-cifar10").params == {"n_clusters": 10}


def test_options_that_a_method_lacks_are_ignored_or_refused():
    given = {"verbose": True, "device": None}
    assert resolve("kmeans", source="digits", n_clusters=2, params=given).params == {"n_clusters": 2}
    with pytest.raises(InputError, match="kmeans has no parameter 'device'"):
        resolve("kmeans", source="digits", n_clusters=2, params={"device": "cpu"})
    with pytest.raises(InputError, match="c3 has no parameter 'guard'"):
        resolve("c3", source="digits", n_clusters=2, params={"guard": False})


def test_the_data_decide_which_method_is_meant_by_none():
    digits = data.load("digits")
    run = resolve(source="digits", n_clusters=10, settings=["prior=even"])
    assert run.method == "auto"
    named, note = run.on(digits)
    assert (named.method, named.params) == ("consensus", {"n_clusters": 10, "prior": "even"})
    assert note == "Method: consensus, since the samples are images of handwriting."
    with pytest.raises(InputError, match="consensus, which suits these data, has no parameter 'zeta'"):
        resolve(source="digits", n_clusters=10, settings=["zeta=0.5"]).on(digits)
    assert resolve("cc", source="digits", n_clusters=10).on(digits)[1] is None


def test_what_is_missing_is_named():
    with pytest.raises(InputError, match="No source was given"):
        resolve(n_clusters=3)
    with pytest.raises(InputError, match="number of clusters was not given"):
        resolve("dec", source="digits")


def test_a_number_that_is_not_given_is_found():
    assert resolve(source="digits").params["n_clusters"] == "auto"
    assert resolve("kmeans", source="digits", n_clusters="auto").params["n_clusters"] == "auto"
    assert resolve(recipe="c3-cifar10").params["n_clusters"] == 10


def test_clusters_are_counted_where_asked_for(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((6, 4)), y=np.arange(6) % 3)
    assert resolve(source=str(tmp_path / "x.npz"), count_classes=True).params["n_clusters"] == 3
    np.savez(tmp_path / "x.npz", x=np.zeros((6, 4)))
    with pytest.raises(InputError, match="has no classes to count"):
        resolve(source=str(tmp_path / "x.npz"), count_classes=True)


def test_load_options_are_those_of_the_encoder_and_the_given_ones():
    run = resolve(
        "cc", source="digits", n_clusters=2, params={"image_size": 16}, options={"max_bad": 0.5, "kind": None}
    )
    assert run.options == {"max_bad": 0.5, "image_size": 16}
    assert run.load_options.items() >= run.options.items()


def test_paths_are_absolute_and_names_are_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("digits", "digits-1k", "digits_scans"):
        (tmp_path / name).mkdir()
    assert absolute("digits_scans") == str(tmp_path / "digits_scans")
    assert [absolute(name) for name in ("digits", "digits-1k", "fashion", "hf:name")] == [
        "digits", "digits-1k", "fashion", "hf:name",
    ]  # fmt: skip
    assert absolute("./digits") == str(tmp_path / "digits")
    run = resolve(source="./digits", n_clusters=2, settings=["start=digits_scans"], params={"encoder": "digits_scans"})
    assert run.source == str(tmp_path / "digits")
    assert run.params["start"] == run.params["encoder"] == str(tmp_path / "digits_scans")
