"""Real gloo processes give the loss and the gradient of one process on the joined batch; torchrun writes one run.

Processes are forked from one server that has imported torch, so that starting them is cheap.
"""

import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp
from PIL import Image

from c3clust import augment, cli, data, dist, encoders
from c3clust.dist import collectives
from c3clust.encoders.image import ImageEncoder
from c3clust.methods.ae import AEObjective
from c3clust.methods.c3 import C3Objective
from c3clust.methods.c3.graph import read_clusters
from c3clust.methods.c3.heads import fit_heads
from c3clust.methods.c3.images import GuidedObjective
from c3clust.methods.c3.loss import positives_per_view
from c3clust.methods.cc import CCObjective
from c3clust.methods.dac import DACObjective, LabelNet
from c3clust.methods.dcn import DCNObjective
from c3clust.methods.dec import DECObjective
from c3clust.methods.idec import IDECObjective
from c3clust.methods.iic import IICObjective, InformationNet
from c3clust.methods.kmeans import KMeans
from c3clust.methods.scan import NeighbourNet, NeighbourObjective, SelfLabelObjective
from c3clust.methods.simclr import Projected, SimCLRObjective
from c3clust.metrics import rand_index
from c3clust.neighbours import nearest_neighbours
from c3clust.networks import ClusterNet
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.heads import LinearHeads
from c3clust.networks.norms import SyncedNorm, synchronised
from c3clust.networks.readouts import Centred
from c3clust.records.record import RunRecord
from c3clust.training import Batch, TrainingContext

PRELOAD = ["torch", "sklearn.cluster", "c3clust.cli", "c3clust.methods.c3", "c3clust.methods.scan"]

OBJECTIVES = {  # of a ClusterNet
    "cc": CCObjective(0.5, 1.0),
    "warming up": CCObjective(0.5, 1.0, warming_up=True),
    "guided": GuidedObjective(torch.arange(12) % 3, torch.linspace(0.2, 1, 12), 0.5),
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


LINEAR = {  # network and objective
    "dac": (lambda f: LabelNet(f, 5, 3), lambda: DACObjective(4)),
    "iic": (lambda f: InformationNet(f, 5, 3, 7, 2), lambda: IICObjective(1.0)),
    "scan": (neighbour_net, lambda: NeighbourObjective(torch.zeros(12, 1), 5.0)),
    "self label": (neighbour_net, lambda: SelfLabelObjective(0.35)),
}
NAMES = [*OBJECTIVES, *CENTRED, *LINEAR]
SINGLE = ("dec", "idec")  # their refresh computes in float32
PAIRS = ("cc", "warming up", "guided", "c3 follow", "c3 joint", "c3 frozen", "simclr", "dac")  # losses over all pairs


def network(name):
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.BatchNorm1d(5), torch.nn.ReLU())
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


def step(name, world=1, rank=0):
    """The loss, what else is logged, the gradients, and the state, which an objective may change too."""
    dtype = torch.float32 if name in SINGLE else torch.float64
    net = network(name).to(dtype)
    index, x_a, x_b = (t.chunk(world)[rank] for t in (torch.arange(12), *(x.to(dtype) for x in views())))
    objective = OBJECTIVES.get(name) or (LINEAR[name][1]() if name in LINEAR else CENTRED[name](net))
    if hasattr(objective, "refresh"):
        context = TrainingContext(views()[0].numpy(), (6,), augment.policy("none"), 0, torch.device("cpu"))
        objective.refresh(net, context)
    batch = Batch(x_a, x_b, index, raw=x_b.float(), size=(6,))
    with synchronised(net):
        if name == "self label":
            object.__setattr__(batch, "x", x_b)
        if hasattr(objective, "losses"):
            terms = {"loss": sum(loss for _, loss in objective.losses(net, batch))}
        else:
            terms = objective(net, batch)
        terms["loss"].backward()
        dist.sum_gradients(net.parameters())
    logged = {key: value.detach() for key, value in terms.items()}
    gradients = {key: p.grad for key, p in net.named_parameters() if p.grad is not None}
    return logged | gradients | {f"state of {key}": value for key, value in net.state_dict().items()}


def normalised(world=1, rank=0):
    """Output, gradients and running statistics of one layer of batch normalisation, of pictures."""
    g = torch.Generator().manual_seed(2)
    x, weights = (torch.randn(8, 3, 2, 2, generator=g, dtype=torch.float64) for _ in range(2))
    x, weights = (t.chunk(world)[rank] for t in (x + 100, weights))
    x.requires_grad_()
    net = torch.nn.Sequential(torch.nn.BatchNorm2d(3)).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([0.5, 1.0, 2.0]))
    with synchronised(net):
        assert isinstance(net[0], SyncedNorm) == (world > 1)
        y = net(x)
        (weights * y.square()).sum().backward()
        dist.sum_gradients(net.parameters())
        net.eval()
    assert not net[0].training
    mine = {"y": y.detach(), "dx": x.grad}
    whole = {key: dist.gather(value) for key, value in mine.items()}
    return whole | {key: p.grad for key, p in net.named_parameters()} | dict(net.state_dict())


def broken_gather(kind):
    """Steps with a gather that has a fault: the comparison with one process must notice."""
    whole, reduced = collectives._all_rows, collectives._summed
    world, rank = dist.world_size(), dist.rank()
    if kind == "drops gradients":
        collectives._Gather.backward = staticmethod(
            lambda ctx, *g: (g[0].narrow(0, rank * ctx.rows, ctx.rows), None)  # of the own columns alone
        )
    else:
        collectives._all_rows = lambda x: torch.cat([x] * world)  # the own columns in place of the others'
    found = {name: step(name, world, rank) for name in PAIRS}
    collectives._all_rows, collectives._summed = whole, reduced
    return found


class SmallBatches(ImageEncoder):
    batch = 2


def around(folder):
    """What is done around training: pictures decoded and encoded, heads fitted, neighbours, clusters of a graph."""
    pictures = data.load(folder / "pictures", max_bad=0.5, image_size=8, shared=True)
    encoder, world = encoders.load(torch.nn.AdaptiveAvgPool2d(2)), dist.world_size()
    encoder.__class__ = SmallBatches
    stored = encoders.features(encoder, pictures, augment.policy("digit"), 2, folder=folder / f"features-{world}")
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(90, 6)) + 5 * np.eye(6)[np.arange(90) % 3]).astype(np.float32)
    heads, quality = fit_heads(x, 3, scaled=False, prior="auto", members=5, seed=0)
    reading = read_clusters(x, x / np.linalg.norm(x, axis=1, keepdims=True), 3, 0, n_members=2)
    return {
        "pictures": pictures.x,
        "names": list(pictures.names),
        "skipped": [name for name, _ in pictures.skipped],
        "features": np.array(stored.x.views[:]),
        "heads": {key: value.double() for key, value in heads.state_dict().items()},
        "estimate": quality.estimated_accuracy,
        "reading": reading.labels,
        "neighbours": nearest_neighbours(x, 4),
        "k-means": KMeans(3, random_state=0).fit(x).labels_,
    }


def several(world, rank, folder):
    """All that is compared with one process; the faults last, since they stay."""
    found = {name: step(name, world, rank) for name in NAMES}
    found["around"] = around(folder)
    found["batch norm"] = normalised(world, rank)
    z_a, z_b = (torch.nn.functional.normalize(x.double(), dim=1) for x in views())
    parts = (z.chunk(world)[rank] for z in (z_a, z_b))
    found["positives"] = positives_per_view(*parts, 0.3, shared=True).item()
    for n in (0, 1, 5, 11):
        part = dist.part(n, 2)
        rows = np.arange(n, dtype=np.float32)[part.start : part.stop, None] * np.ones((1, 2), np.float32)
        found["rows", n] = dist.gather_arrays(rows, n, 2)[:, 0].tolist()
    found["map"] = dist.shared_map(lambda item: item**2, list(range(7)))
    found["draws"] = int(torch.randint(1000, (), generator=dist.own_generator(torch.Generator().manual_seed(3))))
    for kind in ("drops columns", "drops gradients"):
        found[kind] = broken_gather(kind)
    return found


def environment(rank, world, port):
    return {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def worker(rank, world, port, folder):
    torch.set_num_threads(1)
    os.environ |= environment(rank, world, port)
    assert dist.join()
    torch.save(several(world, rank, Path(folder)), f"{folder}/{rank}.pt")
    dist.leave()


def write_pictures(folder):
    """Nine colour pictures, and a file that is none."""
    folder.mkdir()
    for i, pixels in enumerate(np.random.default_rng(0).integers(0, 256, (9, 8, 8, 3), dtype=np.uint8)):
        Image.fromarray(pixels).save(folder / f"{i}.png")
    (folder / "4a.png").write_bytes(b"no picture")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture(scope="module", params=[2, 4])
def found(request, tmp_path_factory):
    """What each of several processes has computed."""
    folder = tmp_path_factory.mktemp("several")
    write_pictures(folder / "pictures")
    multiprocessing.set_forkserver_preload(PRELOAD)
    mp.start_processes(worker, (request.param, free_port(), str(folder)), request.param, start_method="forkserver")
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(request.param)]


def same(one, several, tolerance):
    """Whether all values are the same, which are those of the same names."""
    return one.keys() == several.keys() and all(
        torch.allclose(one[key].double(), several[key].double(), rtol=tolerance, atol=tolerance) for key in one
    )


@pytest.mark.parametrize("name", NAMES)
def test_several_processes_equal_one(found, name):
    one, tolerance = step(name), 1e-5 if name in SINGLE else 1e-9
    for process in found:
        assert same(one, process[name], tolerance), name


def test_batch_normalisation_is_over_the_batch_of_all(found):
    for process in found:
        assert same(normalised(), process["batch norm"], 1e-9)


@pytest.mark.parametrize("kind", ["drops columns", "drops gradients"])
@pytest.mark.parametrize("name", PAIRS)
def test_a_gather_with_a_fault_is_noticed(found, name, kind):
    assert not same(step(name), found[0][kind][name], 1e-3)


def test_the_work_around_training_is_that_of_one(found, tmp_path):
    write_pictures(tmp_path / "pictures")
    one = around(tmp_path)
    for process in found:
        several = process["around"]
        assert same(one["heads"], several["heads"], 1e-4)
        assert several["estimate"] == pytest.approx(one["estimate"])
        for name in ("pictures", "names", "skipped", "features", "reading", "neighbours"):
            assert np.array_equal(one[name], several[name]), name
        assert rand_index(one["k-means"], several["k-means"]) == 1
    assert one["skipped"] == ["4a.png"]


def test_work_is_shared_and_in_order(found):
    z_a, z_b = (torch.nn.functional.normalize(x.double(), dim=1) for x in views())
    for process in found:
        assert process["positives"] == pytest.approx(positives_per_view(z_a, z_b, 0.3).item())
        assert all(process["rows", n] == list(range(n)) for n in (0, 1, 5, 11))
        assert process["map"] == [item**2 for item in range(7)]
    assert len({process["draws"] for process in found}) == len(found)


def test_alone_everything_is_the_identity():
    x = torch.ones(2, requires_grad=True)
    assert dist.gather(x) is x
    assert (dist.rank(), dist.world_size(), dist.join()) == (0, 1, False)


def run_command(rank, world, port, words, log):
    """The command line as one of several processes."""
    torch.set_num_threads(1)
    os.environ |= environment(rank, world, port) | {"NO_COLOR": "1"}
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv = ["c3clust", *map(str, words)]
    cli.main()


def start(world, log, *words):
    """Start c3clust in several processes."""
    multiprocessing.set_forkserver_preload(PRELOAD)
    context, port = multiprocessing.get_context("forkserver"), free_port()
    started = [context.Process(target=run_command, args=(rank, world, port, words, str(log))) for rank in range(world)]
    for process in started:
        process.start()
    return started


def end(processes, seconds=300):
    """The exit codes of all, which must end by themselves."""
    for process in processes:
        process.join(seconds)
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
    return codes


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """The words of a small run of C3, without its folder."""
    folder = tmp_path_factory.mktemp("data")
    np.save(folder / "x.npy", np.random.default_rng(0).random((72, 8, 8)).astype(np.float32))
    sizes = {"cc_epochs": 4, "epochs": 3, "batch_size": 16, "cc_batch_size": 16, "projection_dim": 8, "zeta": 0.6}
    settings = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
    return ("fit", folder / "x.npy", "-k", 3, *settings, "--checkpoint-minutes", 0, "-o")


def test_a_killed_process_ends_all_and_both_resume(fit, tmp_path):
    log = tmp_path / "log.txt"
    assert end(start(2, log, *fit, tmp_path / "whole")) == [0, 0], log.read_text()
    assert log.read_text().count("72 images in") == 1  # the first process alone prints
    log.unlink()
    processes = start(2, log, *fit, tmp_path / "killed")
    while not list((tmp_path / "killed").glob("checkpoint/1-*.json")):
        assert processes[1].is_alive(), log.read_text()
        time.sleep(0.01)
    processes[1].kill()
    assert end(processes) == [2, -signal.SIGKILL]
    message = log.read_text().splitlines()[-1]
    assert log.read_text().count("c3clust:") == 1
    assert message.startswith("c3clust: Process 1 (of 0 to 1) has ended without a message")
    assert message.endswith(f"c3clust resume {tmp_path / 'killed'}")
    shutil.copytree(tmp_path / "killed", tmp_path / "alone")
    assert end(start(2, log, "resume", tmp_path / "killed")) == [0, 0], log.read_text()
    for name in ("model.safetensors", "assignments.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert end(start(1, log, "resume", tmp_path / "alone")) == [0], log.read_text()
    assert RunRecord.read(tmp_path / "alone" / "record.json").n_clusters == 3
    for world in (1, 2):  # each sample once, in order
        words = ("predict", tmp_path / "whole", fit[1], "-o", tmp_path / f"{world}.csv")
        assert end(start(world, log, *words)) == [0] * world, log.read_text()
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert (tmp_path / "1.csv").read_text().count("\n") == 73


def test_one_message_for_all(fit, tmp_path):
    log = tmp_path / "log.txt"
    assert end(start(2, log, "fit", tmp_path / "nothing", "-o", tmp_path / "run")) == [2, 2]
    assert log.read_text().count("c3clust:") == 1
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    log.unlink()
    assert end(start(2, log, *fit, tmp_path / "taken")) == [2, 2]
    assert log.read_text().startswith("c3clust: Process 0 (of 0 to 1) failed: ")
    assert len(log.read_text().splitlines()) == 1


def torchrun(*words):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={free_port()}"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    return subprocess.Popen([*command, "-m", "c3clust", *map(str, words)], **pipes)


def test_torchrun_fits_and_one_process_writes(fit, tmp_path):
    process = torchrun(*fit, tmp_path / "run", "--json")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert json.loads(out)["run"] == str(tmp_path / "run")
    assert (tmp_path / "run" / "record.json").exists()


@pytest.mark.slow
def test_torchrun_and_a_killed_process(fit, tmp_path):
    process = torchrun(*fit, tmp_path / "run")
    while not list((tmp_path / "run").glob("checkpoint/1-*.json")):
        assert process.poll() is None
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ranks = {Path(f"/proc/{child}/environ").read_bytes().split(b"\0RANK=")[1][:1]: int(child) for child in children}
    os.kill(ranks[b"1"], signal.SIGKILL)
    err = process.communicate(timeout=120)[1]
    assert err.count("c3clust: ") == 1
    assert "c3clust: Process 1 (of 0 to 1) has ended without a message" in err


@pytest.mark.slow
def test_two_processes_reach_the_accuracy_of_one(tmp_path):
    """CC on digits, three seeds: the means differ by less than the largest difference between seeds."""
    log, found = tmp_path / "log.txt", {1: [], 2: []}
    for seed in range(3):
        for world, scores in found.items():
            run = tmp_path / f"{world}-{seed}"
            words = ("fit", "digits", "-k", 10, "--method", "cc", "--set", "epochs=30", "--seed", seed, "-o", run)
            assert end(start(world, log, *words), 900) == [0] * world, log.read_text()
            scores.append(RunRecord.read(run / "record.json").scores["acc"])
    print(found)
    spread = max(max(scores) - min(scores) for scores in found.values())
    assert abs(np.mean(found[1]) - np.mean(found[2])) <= max(spread, 0.02)
