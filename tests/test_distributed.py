"""Two gloo processes give the loss and the gradient of one process on the joined batch; torchrun writes one run."""

import json
import os
import subprocess
import sys

import pytest
import torch
import torch.multiprocessing as mp

from c3clust import dist
from c3clust.methods.c3 import C3Objective
from c3clust.methods.cc import CCObjective
from c3clust.networks import ClusterNet

OBJECTIVES = {
    "cc": CCObjective(0.5, 1.0),
    "c3 follow": C3Objective(0.6, 0.1, 1.0, follow=True),
    "c3 frozen": C3Objective(0.6, 0.1, 1.0, follow=False),
}


def network():
    torch.manual_seed(0)
    return ClusterNet(torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU()), 5, 4, 3)


def views(n=12):
    g = torch.Generator().manual_seed(1)
    return torch.randn(n, 6, generator=g), torch.randn(n, 6, generator=g)


def step(objective, x_a, x_b):
    net = network()
    terms = objective(net, x_a, x_b)
    terms["loss"].backward()
    dist.sum_gradients(net.parameters())
    return terms["loss"].item(), [None if p.grad is None else p.grad for p in net.parameters()]


def worker(rank, world, folder):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"}
    assert dist.join()
    x_a, x_b = (x.chunk(world)[rank] for x in views())
    torch.save({name: step(objective, x_a, x_b) for name, objective in OBJECTIVES.items()}, f"{folder}/{rank}.pt")
    dist.leave()


def test_two_processes_equal_one(tmp_path):
    mp.spawn(worker, args=(2, str(tmp_path)), nprocs=2)
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        for name, objective in OBJECTIVES.items():
            loss, gradients = step(objective, *views())
            assert found[name][0] == pytest.approx(loss, rel=1e-6)
            for one, two in zip(gradients, found[name][1], strict=True):
                assert (one is None) == (two is None)
                if one is not None:
                    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-7)


def test_alone_everything_is_the_identity():
    x = torch.ones(2, requires_grad=True)
    assert dist.gather(x) is x
    assert (dist.rank(), dist.world_size(), dist.join()) == (0, 1, False)


def test_torchrun_fits_and_one_process_writes(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=29518", "-m", "c3clust"]
    fit = ["fit", "digits", "-k", "10", "-o", str(tmp_path / "run"), "--set", "cc_epochs=1", "--set", "epochs=1", "--json"]
    done = subprocess.run(command + fit, capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"] == str(tmp_path / "run")
    assert (tmp_path / "run" / "record.json").exists()
