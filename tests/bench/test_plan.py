"""From sources, methods, seeds and settings to jobs."""

import pytest

from c3clust.bench.plan import parse_seeds, plan
from c3clust.errors import InputError


def test_the_plan_of_a_bench():
    jobs = plan(["digits"], ["kmeans", "cc", "c3"], [0, 1], settings=["c3.zeta=0.7", "cc.augment.policy=none"])
    assert [(job.method, job.seed) for job in jobs][:3] == [("kmeans", 0), ("kmeans", 1), ("cc", 0)]
    assert jobs[-1].params == {"zeta": 0.7, "n_clusters": 10}
    assert jobs[2].params["augment"] == {"policy": "none"}
    with pytest.raises(InputError, match="Did you mean c3"):
        plan(["digits"], ["c33"], [0])
    with pytest.raises(InputError, match="not a seed"):
        parse_seeds("0,x")


def test_a_recipe_reaches_each_method_as_far_as_it_concerns_it():
    c3, cc, simclr, kmeans = (
        plan(["cifar10"], [name], [0], recipe="c3-cifar10")[0] for name in ("c3", "cc", "simclr", "kmeans")
    )
    assert (c3.start.params["epochs"], c3.params["epochs"], c3.params["zeta"]) == (1000, 20, 0.6)
    assert c3.start.key == cc.key
    assert (cc.params["epochs"], cc.params["schedule"], cc.params["lr"]) == (1000, "constant", 3e-4)
    assert "epochs" not in simclr.params
    assert simclr.params["backbone"] == "resnet34"
    assert kmeans.params == {"n_clusters": 10}
    assert c3.options == {"image_size": 224}
