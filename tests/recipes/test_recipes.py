"""The recipes of the paper hold the paper's values, field by field."""

import pytest

from c3clust import data, methods, recipes
from c3clust.paper import Setting
from c3clust.recipes.resolve import resolve
from c3clust.training import Stage

RECIPES = {name: recipes.load(name) for name in recipes.names()}

# name: data, clusters, zeta, strength of the colour jitter, probability of blur
PAPER = {
    "c3-cifar10": ("cifar10", 10, 0.6, 0.5, 0.0),
    "c3-cifar100": ("cifar100", 20, 0.6, 0.5, 0.0),
    "c3-imagenet10": ("imagenet-10", 10, 0.6, 1.0, 0.5),
    "c3-imagenet-dogs": ("imagenet-dogs", 15, 0.6, 1.0, 0.5),
    "c3-tiny-imagenet": ("tiny-imagenet", 200, 0.95, 0.5, 0.0),
}
NATIVE = {"c3-cifar10-32px": 32, "c3-cifar100-32px": 32, "c3-tiny-imagenet-64px": 64}
OTHERS = [name for name in RECIPES if RECIPES[name]["method"] != "c3"]
CPU = {"c3-digits": "digits", "c3-mnist-10k": "mnist", "c3-fashion-10k": "fashion", "c3-cifar10-10k": "cifar10"}


def expected(name: str) -> dict:
    place, n_clusters, zeta, jitter, blur = PAPER[name]
    params = {
        "backbone": "resnet34",
        "stem": "imagenet",
        "image_size": 224,
        "projection_dim": 128,
        "augment": {"policy": "photo", "jitter": jitter, "blur": blur},
        "cc_epochs": 1000,
        "cc_batch_size": 256,
        "cc_lr": 3e-4,
        "cc_schedule": "constant",
        "tau_i": 0.5,
        "tau_c": 1.0,
        "epochs": 20,
        "batch_size": 128,
        "lr": 1e-5,
        "schedule": "constant",
        "zeta": zeta,
        "gamma": 0.1,
    }
    return {"method": "c3", "data": place, "n_clusters": n_clusters, "params": params}


@pytest.mark.parametrize("name", PAPER)
def test_recipes_runs_and_figures_have_the_papers_values(name):
    wanted = expected(name)["params"]
    setting = Setting(RECIPES[name]["data"])
    start = {f"cc_{key}": value for key, value in setting.start(0).params.items()}
    assert wanted == RECIPES[name]["params"]
    assert wanted.items() <= resolve(recipe=name).params.items()
    assert wanted.items() <= (setting.c3(0).params | start).items()


def test_all_recipes_are_known():
    assert set(RECIPES) - set(OTHERS) == {*PAPER, *NATIVE, *CPU, "c3-as-published", "c3-released"}


@pytest.mark.parametrize("name", OTHERS)
def test_a_recipe_of_another_method_is_named_after_it_and_fits_it(name):
    run = resolve(recipe=name)
    assert name.startswith(run.method.replace("_", "-") + "-")
    estimator = methods.load(run.method)(**run.params)
    estimator._check_params()
    assert any(getattr(estimator, key) != getattr(methods.load(run.method)(), key) for key in run.params)


def test_as_published_takes_any_pictures(tmp_path):
    assert "data" not in RECIPES["c3-as-published"]
    run = resolve(recipe="c3-as-published", source=str(tmp_path), n_clusters=7)
    assert run.params == expected("c3-cifar10")["params"] | {"n_clusters": 7}
    assert resolve("cc", recipe="c3-as-published", source=str(tmp_path), n_clusters=7).params["epochs"] == 1000


def test_the_released_code_has_no_weights():
    released, published = RECIPES["c3-released"], RECIPES["c3-cifar10"]
    assert released == published | {"params": published["params"] | {"gamma": 0.0}}


@pytest.mark.parametrize("name", PAPER)
def test_a_paper_recipe_is_the_papers_and_nothing_more(name):
    assert RECIPES[name] == expected(name)


@pytest.mark.parametrize(("name", "size"), NATIVE.items())
def test_a_native_recipe_differs_in_size_and_stem_only(name, size):
    wanted = expected(name.rsplit("-", 1)[0])
    wanted["params"] |= {"image_size": size, "stem": "small"}
    assert RECIPES[name] == wanted


@pytest.mark.parametrize(("name", "place"), CPU.items())
def test_a_cpu_recipe_is_small(name, place):
    recipe = RECIPES[name]
    assert recipe["data"].startswith(place)
    assert recipe["params"]["backbone"] == "convnet"
    assert recipe["params"]["cc_epochs"] <= 100


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "c3-as-published"])
def test_every_recipe_names_a_data_set(name):
    base = RECIPES[name]["data"].removesuffix("-10k")
    assert base in [*data.names(), "fashion"]


@pytest.mark.parametrize("name", OTHERS)
def test_optimisers_and_schedules_of_recipes_can_be_made(name):
    params = RECIPES[name]["params"]
    stage = Stage("one", 10, 32, 0.1, params.get("schedule", "cosine"), params.get("optimizer", "adam"))
    assert 0 <= stage.learning_rate(0.5) <= 0.1


def test_every_repaired_method_with_released_values_has_a_recipe():
    found = {RECIPES[name]["method"] for name in OTHERS}
    assert {"scan", "iic", "dac", "simclr", "dec", "idec", "dcn"} <= found
