"""Two gloo processes give the loss and the gradient of one process on the joined batch; torchrun writes one run."""

import json
import os
import subprocess
import sys

import pytest
import torch
import torch.multiprocessing as mp

from c3clust import augment, dist
from c3clust.methods.ae import AEObjective
from c3clust.methods.c3 import C3Objective
from c3clust.methods.cc import CCObjective
from c3clust.methods.dac import DACObjective, LabelNet
from c3clust.methods.dcn import DCNObjective
from c3clust.methods.dec import DECObjective
from c3clust.methods.idec import IDECObjective
from c3clust.methods.iic import IICObjective, InformationNet
from c3clust.methods.scan import NeighbourNet, NeighbourObjective, SelfLabelObjective
from c3clust.methods.simclr import Projected, SimCLRObjective
from c3clust.networks import ClusterNet
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.heads import LinearHeads
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext

OBJECTIVES = {  # of a ClusterNet
    "cc": CCObjective(0.5, 1.0),
    "c3 follow": C3Objective(0.6, 0.1, 1.0, "follow"),
    "c3 joint": C3Objective(0.6, 0.1, 1.0, "joint"),
    "c3 frozen": C3Objective(0.6, 0.1, 1.0, "frozen"),
}

CENTRED = {  # made for each use, since some have state; of an autoencoder with centres
    "ae": lambda net: AEObjective(),
    "dec": lambda net: DECObjective(net),
    "idec": lambda net: IDECObjective(net, 0.1),
    "dcn": lambda net: DCNObjective(net, 0.05),
    "simclr": lambda net: SimCLRObjective(0.5),
}


def neighbour_net(f):
    return NeighbourNet(Projected(f, 5, 4), LinearHeads(5, 3, 2))


LINEAR = {  # network and objective; the batch norm of DAC is in evaluation mode, since its statistics are not shared
    "dac": (lambda f: LabelNet(f, 5, 3).eval(), lambda: DACObjective(4)),
    "iic": (lambda f: InformationNet(f, 5, 3, 7, 2), lambda: IICObjective(1.0)),
    "scan": (neighbour_net, lambda: NeighbourObjective(torch.zeros(12, 1), 5.0)),
    "self label": (neighbour_net, lambda: SelfLabelObjective(0.35)),
}
NAMES = [*OBJECTIVES, *CENTRED, *LINEAR]


def network(name):
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU())
    if name in OBJECTIVES:
        return ClusterNet(f, 5, 4, 3)
    if name in LINEAR:
        return LINEAR[name][0](f)
    net = Centred(Projected(f, 5, 4), 5, 3) if name == "simclr" else Centred(Autoencoder((6,), (5,), 2), 2, 3)
    torch.nn.init.normal_(net.readout.centres)
    net.readout.centres.requires_grad_(name in ("dec", "idec"))
    return net


def views(n=12):
    g = torch.Generator().manual_seed(1)
    return torch.randn(n, 6, generator=g), torch.randn(n, 6, generator=g)


def step(name, x_a, x_b):
    """The loss, the gradients, and the parameters, which an objective may move too."""
    net = network(name)
    objective = OBJECTIVES.get(name) or (LINEAR[name][1]() if name in LINEAR else CENTRED[name](net))
    if hasattr(objective, "refresh"):
        context = TrainingContext(views()[0].numpy(), (6,), augment.policy("none"), 0, torch.device("cpu"))
        objective.refresh(net, context)
    batch = Batch(x_a, x_b, raw=x_b, size=(6,))
    if hasattr(objective, "losses"):
        terms = {"loss": sum(loss for _, loss in objective.losses(net, batch))}
    else:
        terms = objective(net, batch)
    terms["loss"].backward()
    dist.sum_gradients(net.parameters())
    return terms["loss"].item(), [p.grad for p in net.parameters()] + [p.detach() for p in net.parameters()]


def worker(rank, world, folder):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"}
    assert dist.join()
    x_a, x_b = (x.chunk(world)[rank] for x in views())
    torch.save({name: step(name, x_a, x_b) for name in NAMES}, f"{folder}/{rank}.pt")
    dist.leave()


def test_two_processes_equal_one(tmp_path):
    mp.spawn(worker, args=(2, str(tmp_path)), nprocs=2)
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        for name in NAMES:
            loss, gradients = step(name, *views())
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
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc_per_node=2",
        "--master_port=29518",
        "-m",
        "c3clust",
    ]
    fit = [
        "fit",
        "digits",
        "-k",
        "10",
        "-o",
        str(tmp_path / "run"),
        "--set",
        "cc_epochs=1",
        "--set",
        "epochs=1",
        "--json",
    ]
    done = subprocess.run(
        command + fit, capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"] == str(tmp_path / "run")
    assert (tmp_path / "run" / "record.json").exists()
