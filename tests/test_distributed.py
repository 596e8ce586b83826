"""Real gloo processes give the loss and the gradient of one process on the joined batch, of every method.

Two and four processes compute all that is compared once; the tests read what they have left. They are forked from one
server that has imported torch, so that starting them is cheap.
"""

import functools
import multiprocessing
import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp
from PIL import Image
from torch import nn

from c3clust import augment, data, dist, encoders, methods
from c3clust.consensus.fit import fit_vectors
from c3clust.consensus.graph import read_clusters
from c3clust.data import duplicates
from c3clust.data.duplicates import pictures
from c3clust.data.duplicates.nearest import nearest
from c3clust.dist import collectives
from c3clust.encoders.image import ImageEncoder
from c3clust.estimator import cluster_count
from c3clust.features.n_clusters import without_evidence
from c3clust.features.neighbours import nearest_neighbours
from c3clust.methods.adc import ADCObjective, AssociationNet
from c3clust.methods.ae import AEObjective
from c3clust.methods.c3 import C3Objective
from c3clust.methods.c3.loss import positives_per_view
from c3clust.methods.c3_adaptive.estimator import AdaptiveObjective
from c3clust.methods.cc import CCObjective, InstanceObjective
from c3clust.methods.consensus import GuidedObjective
from c3clust.methods.dac import DACObjective
from c3clust.methods.dae import DAEObjective
from c3clust.methods.dccm import CorrelationNet, DCCMObjective
from c3clust.methods.dcgan import DCGANObjective
from c3clust.methods.dcn import DCNObjective
from c3clust.methods.dcss import FuzzyObjective, PairNet, PairObjective
from c3clust.methods.ddc import DDCObjective
from c3clust.methods.dec import DECObjective
from c3clust.methods.dec_da import DECDAObjective
from c3clust.methods.decnn import DeCNNObjective, Deconvolutional
from c3clust.methods.den import DENObjective
from c3clust.methods.dml import DMLObjective, ManyCodes
from c3clust.methods.drc import DRCObjective
from c3clust.methods.edesc import EDESCObjective, SubspaceNet
from c3clust.methods.gatcluster import AttentionNet, GATClusterObjective
from c3clust.methods.idec import IDECObjective
from c3clust.methods.idecf import IDECFObjective, MembershipNet
from c3clust.methods.iic import IICObjective
from c3clust.methods.jule import JULEObjective
from c3clust.methods.kmeans import KMeans
from c3clust.methods.mmdc import MMDCObjective, TurningNet
from c3clust.methods.party import LabelledCodes, PARTYObjective
from c3clust.methods.pica import PICAObjective
from c3clust.methods.propos import Predicting, ProPosObjective
from c3clust.methods.scan import NeighbourObjective, SelfLabelObjective
from c3clust.methods.simclr import SimCLRObjective
from c3clust.methods.spice import SelfObjective, SemiObjective
from c3clust.methods.tcl import TCLObjective
from c3clust.methods.temi import TEMIObjective, UnitHeads
from c3clust.methods.turtle import TaskNet, TURTLEObjective
from c3clust.methods.vae import VAEObjective, VariationalAutoencoder
from c3clust.metrics import rand_index
from c3clust.networks import ClusterNet
from c3clust.networks.adversarial import Adversaries
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.heads import InformationNet, LabelNet, LinearHeads, NeighbourNet, Projected
from c3clust.networks.norms import SyncedNorm, synchronised
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, Stage, TrainingContext

EMBED = sys.modules["c3clust.training.embed"]  # the name is also that of a function
N, WIDTH = 16, 8  # so that a process draws multiples of 16 normal numbers, as torch does
LABELS = torch.arange(N) % 3


def encoder(inputs=6):
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU())


def cluster_net():
    return ClusterNet(encoder(), WIDTH, 4, 3)


def label_net():
    return LabelNet(encoder(), WIDTH, 3)


def information_net():
    return InformationNet(encoder(), WIDTH, 3, 7, 1)


def neighbour_net():
    return NeighbourNet(Projected(encoder(), WIDTH, 4), LinearHeads(WIDTH, 3, 2))


def centred(body, width, learned=False):
    net = Centred(body, width, 3)
    nn.init.normal_(net.readout.centres)
    net.readout.centres.requires_grad_(learned)
    return net


def autoencoder(learned=False):
    return centred(Autoencoder((6,), (5,), 4), 4, learned)


def deconvolutional():
    body = Deconvolutional((6,), [4], 1, 10.0, 3)
    body.gains.fill_(4.0)
    return centred(body, body.width)


def adversaries():
    body = Adversaries((6,), 4, 5)
    return centred(body, body.d.width)


def pair_net():
    net = PairNet(autoencoder(), 4, 3, 1.5)
    nn.init.normal_(net.g[-1].weight)
    return net


def many_codes():
    net = ManyCodes(Autoencoder((6,), (5,), 4), 3, 4, 1.5)
    net.divide(torch.tensor([[0.0], [0.1], [1.0]]).expand(3, 4))
    return net


def with_state(objective, **state):
    """An objective in the state that a refresh would give it."""
    for name, value in state.items():
        setattr(objective, name, value)
    return objective


def propos(net):
    return with_state(ProPosObjective(3, 0.9, 0.1, 0.1, 0.5), labels=LABELS)


def party(net):
    return with_state(PARTYObjective(None, 0.1, 0.01), targets=torch.ones(N, 4, dtype=torch.float64))


def edesc(net):
    targets = torch.rand(N, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    return with_state(EDESCObjective(0.1), targets=targets / targets.sum(dim=1, keepdim=True))


def known(objective):
    """With targets of samples that were assigned before."""
    c = torch.randn(N, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64).softmax(dim=1)
    return with_state(objective, index=torch.arange(N), c=c)


CASES = {  # network, objective of the network
    "cc": (cluster_net, lambda net: CCObjective(0.5, 1.0)),
    "warming up": (cluster_net, lambda net: InstanceObjective(0.5)),
    "guided": (cluster_net, lambda net: GuidedObjective(LABELS, torch.linspace(0.2, 1, N), 0.5)),
    "c3": (cluster_net, lambda net: C3Objective(0.6, 0.1)),
    "c3 follow": (cluster_net, lambda net: AdaptiveObjective(0.6, 1.0, "follow")),
    "c3 joint": (cluster_net, lambda net: AdaptiveObjective(0.6, 1.0, "joint")),
    "tcl": (cluster_net, lambda net: with_state(TCLObjective(0.5, 0.5, 0.9), labels=LABELS - 1)),
    "simclr": (lambda: centred(Projected(encoder(), WIDTH, 4), WIDTH), lambda net: SimCLRObjective(0.5)),
    "scan": (neighbour_net, lambda net: NeighbourObjective(torch.zeros(N, 1), 5.0)),
    "self label": (neighbour_net, lambda net: SelfLabelObjective(0.35)),
    "dac": (label_net, lambda net: DACObjective(4)),
    "dac released": (label_net, lambda net: DACObjective(4, "released")),
    "dac photographs": (label_net, lambda net: DACObjective(4, "released-cifar10")),
    "dac shared targets": (label_net, lambda net: known(DACObjective(4, together=N))),
    "gatcluster shared targets": (
        lambda: AttentionNet(encoder(), WIDTH, WIDTH, 3),
        lambda net: with_state(known(GATClusterObjective(3, together=N)), labels=LABELS),
    ),
    "ddc": (label_net, lambda net: DDCObjective(0.1)),
    "drc": (label_net, lambda net: DRCObjective(3.0, 1.0, 2.0)),
    "dccm": (lambda: CorrelationNet(encoder(), WIDTH, WIDTH, 3), lambda net: DCCMObjective((5.0, 1.0, 0.5), 0.9, 0.5)),
    "gatcluster": (
        lambda: AttentionNet(encoder(), WIDTH, WIDTH, 3),
        lambda net: with_state(GATClusterObjective(3), labels=LABELS),
    ),
    "iic": (information_net, lambda net: IICObjective(1.0)),
    "pica": (information_net, lambda net: PICAObjective(2.0)),
    "adc": (lambda: AssociationNet(encoder(), WIDTH, 4, 3), lambda net: ADCObjective(False)),
    "adc warmup": (lambda: AssociationNet(encoder(), WIDTH, 4, 3), lambda net: ADCObjective(True)),
    "jule": (
        lambda: centred(Projected(encoder(), WIDTH, 1), WIDTH),
        lambda net: JULEObjective(LABELS.numpy(), 0.2),
    ),
    "byol": (
        lambda: centred(Predicting(encoder(), WIDTH, 4), 4),
        lambda net: ProPosObjective(3, 0.9, 0, 0, 0.5),
    ),
    "propos": (lambda: centred(Predicting(encoder(), WIDTH, 4), 4), propos),
    "mmdc": (
        lambda: TurningNet(nn.Sequential(nn.Flatten(), *encoder(4)), WIDTH, 3),
        lambda net: MMDCObjective(N, 3, 0.5, False),
    ),
    "spice self": (neighbour_net, lambda net: SelfObjective()),
    "spice semi": (neighbour_net, lambda net: SemiObjective(LABELS - 1, 0.35)),
    "temi": (lambda: UnitHeads(6, 3, 2, 0.5), lambda net: TEMIObjective(torch.zeros(N, 1), net, 0.6, 0.9)),
    "turtle": (lambda: TaskNet(6, 3), lambda net: TURTLEObjective(2, 10.0)),
    "ae": (autoencoder, lambda net: AEObjective()),
    "dae": (autoencoder, lambda net: DAEObjective(0.25)),
    "vae": (lambda: centred(VariationalAutoencoder((6,), (5,), 4), 4), lambda net: VAEObjective()),
    "den": (autoencoder, lambda net: DENObjective(torch.zeros(N, 1), 1.0, 0.5, 0.1, 2)),
    "dec": (lambda: autoencoder(True), DECObjective),
    "dec-da": (lambda: autoencoder(True), lambda net: DECDAObjective(net, 0.5)),
    "idec": (lambda: autoencoder(True), lambda net: IDECObjective(net, 0.1)),
    "idecf": (lambda: MembershipNet(autoencoder(), 4, 3), lambda net: IDECFObjective(0.1, 1.5, True)),
    "dcn": (autoencoder, lambda net: DCNObjective(net, 0.05)),
    "edesc": (lambda: SubspaceNet(Autoencoder((6,), (5,), 6), 3, 2, 5.0), edesc),
    "party": (lambda: LabelledCodes(Autoencoder((6,), (5,), 4), 4, 3), party),
    "dcgan": (adversaries, lambda net: DCGANObjective()),
    "decnn": (deconvolutional, lambda net: DeCNNObjective(0)),
    "dcss fuzzy": (autoencoder, lambda net: FuzzyObjective(1.5)),
    "dcss": (pair_net, lambda net: PairObjective(0.8, 0.6, 4)),
    "dcss own pairs": (pair_net, lambda net: with_state(PairObjective(0.4, 0.35, 4), epoch=2)),
    "dml": (many_codes, lambda net: DMLObjective()),
}
REFRESHED = ("dec", "dec-da", "idec", "idecf", "dcss fuzzy", "dml")  # which computes in float32
WITHOUT_NETWORK = {"ac", "kmeans", "nmf", "sc"}
FAULTS = ("drops columns", "drops gradients")


def views(name=""):
    """Two views of each sample; of MMDC pictures, and so many that the parts are no multiple of the turns."""
    g = torch.Generator().manual_seed(1)
    x_a, x_b = torch.randn(N, 6, generator=g), torch.randn(N, 6, generator=g)
    return (x[:12, :4].view(-1, 1, 2, 2) for x in (x_a, x_b)) if name == "mmdc" else (x_a, x_b)


def step(name, world=1, rank=0):
    """The loss, what else is logged, the gradients, the state of network and objective, and that of the generator."""
    make_network, make_objective = CASES[name]
    torch.manual_seed(0)
    dtype = torch.float32 if name in REFRESHED else torch.float64
    net = make_network().to(dtype)
    x_a, x_b = (x.to(dtype) for x in views(name))
    index, x_a, x_b = (t.chunk(world)[rank] for t in (torch.arange(len(x_a)), x_a, x_b))
    objective = make_objective(net)
    if name in REFRESHED:
        context = TrainingContext(next(iter(views())).numpy(), (6,), augment.policy("none"), 0, torch.device("cpu"))
        objective.refresh(net, context)
    batch = Batch(x_a, x_b, index)
    batch.__dict__["x"] = x_b  # the un-augmented samples
    with synchronised(net):
        terms = objective(net, batch) if not hasattr(objective, "losses") else dict(objective.losses(net, batch))
        terms.setdefault("loss", sum(terms.values()))
        terms["loss"].backward()
        dist.sum_gradients(net.parameters())
    found = {key: value.detach() for key, value in terms.items()}
    found |= {f"gradient of {key}": p.grad for key, p in net.named_parameters() if p.grad is not None}
    found |= {f"state of {key}": value for key, value in net.state_dict().items()}
    remembered = objective.state_dict() if hasattr(objective, "state_dict") else {}
    return found | {f"memory of {key}": value for key, value in remembered.items()} | {"random": torch.get_rng_state()}


alone = functools.cache(step)


def normalised(world=1, rank=0):
    """Output, gradients and running statistics of one layer of batch normalisation, of pictures."""
    g = torch.Generator().manual_seed(2)
    x, weights = (torch.randn(8, 3, 2, 2, generator=g, dtype=torch.float64) for _ in range(2))
    x, weights = (t.chunk(world)[rank] for t in (x + 100, weights))
    x.requires_grad_()
    net = nn.Sequential(nn.BatchNorm2d(3)).double()
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


def lost(ctx, *grads):
    """The gradient of a gather without the share of the other processes; none at all where it has all of it."""
    own = grads[0].narrow(0, dist.rank() * ctx.rows, ctx.rows)
    return (own if ctx.shared else torch.zeros_like(own)), None


def broken_gather(fault):
    """Steps with a gather that has a fault: the comparison with one process must notice."""
    whole, backward = collectives._all_rows, collectives._Gather.backward
    if fault == "drops gradients":
        collectives._Gather.backward = staticmethod(lost)
    else:
        collectives._all_rows = lambda x: torch.cat([x] * dist.world_size())  # the own columns in place of the others'
    found = {name: step(name, dist.world_size(), dist.rank()) for name in CASES if name != "mmdc"}
    collectives._all_rows, collectives._Gather.backward = whole, staticmethod(backward)
    return found


class SmallBatches(ImageEncoder):
    batch = 2


def around(folder):
    """What is done around training: pictures decoded, encoded, compared; heads, neighbours, clusters of a graph."""
    files = data.load(folder / "pictures", max_bad=0.5, image_size=8, shared=True)
    table = data.load(folder / ("table" if find_spec("pyarrow") else "pictures"), max_bad=0.5, memory=0, shared=True)
    pool, world = encoders.load(nn.AdaptiveAvgPool2d(2)), dist.world_size()
    pool.__class__ = SmallBatches
    stored = encoders.features(pool, files, augment.policy("digit"), 2, folder=folder / f"features-{world}")
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(90, 6)) + 5 * np.eye(6)[np.arange(90) % 3]).astype(np.float32)
    head, quality = fit_vectors(x, 3, scaled=False, prior="auto", seed=0)
    reading = read_clusters(x, x / np.linalg.norm(x, axis=1, keepdims=True), 3, 0, n_members=2)
    context = TrainingContext(x, (6,), augment.policy("none"), 0, torch.device("cpu"))
    torch.manual_seed(0)
    net = cluster_net()
    return {
        "pictures": files.x,
        "table": table.x[:],
        "rows": list(table.names),
        "names": list(files.names),
        "skipped": [name for name, _ in files.skipped],
        "features": np.array(stored.x.views[:]),
        "head": {key: value.double() for key, value in head.state_dict().items()},
        "estimate": quality.estimated_accuracy,
        "reading": reading.labels,
        "neighbours": nearest_neighbours(x, 4),
        "nearest": np.concatenate(nearest(x, 3, block=8), axis=1),
        "assignments": context.assignments(net),
        "projections": context.projections(net),
        "sizes": sum(c.double().sum(dim=0) for _, c in context.embed_part(net)),
        "copies": copies(),
        "k-means": KMeans(3, random_state=0).fit(x).labels_,
    }


def copies():
    """The copies among photographs: one is there twice, one also brighter."""
    g = torch.Generator().manual_seed(0)
    small = torch.rand(7, 3, 16, 16, generator=g)
    x = (200 * nn.functional.interpolate(small, 64, mode="bicubic").clamp(0, 1)).to(torch.uint8).numpy()
    x = np.concatenate([x, x[2:3], x[4:5] + 20])
    found = duplicates.find(data.load(x))
    return [found.rows, found.distinct]


def trained():
    """A network after five steps of CC whose views are the samples themselves, so that only their order is drawn."""
    x = np.random.default_rng(1).normal(size=(85, 6)).astype(np.float32)
    context = TrainingContext(x, (6,), augment.policy("none"), 0, torch.device("cpu"))
    torch.manual_seed(0)
    net = cluster_net().double()
    net.f.register_forward_pre_hook(lambda module, inputs: inputs[0].double())
    note = context.train(Stage("cc", 1, 16, 1e-2, "cosine"), net, CCObjective(0.5, 1.0))
    curves = {name: torch.tensor(note["curves"][name]) for name in ("loss", "learning_rate", "cluster_sizes")}
    return curves | net.state_dict()


class Counted(cluster_count.ClusterCount):
    n_clusters, choice_, _common_scale = "auto", None, True


def several(world, rank, folder):
    """All that is compared with one process."""
    found = {name: step(name, world, rank) for name in CASES}
    found["around"] = around(folder)
    found["batch norm"] = normalised(world, rank)
    found["trained"] = trained()
    z_a, z_b = (nn.functional.normalize(x.double(), dim=1) for x in views())
    parts = (z.chunk(world)[rank] for z in (z_a, z_b))
    found["positives"] = positives_per_view(*parts, 0.3, shared=True).item()
    for n in (0, 1, 5, 11):
        part = dist.part(n, 2)
        rows = np.arange(n, dtype=np.float32)[part.start : part.stop, None] * np.ones((1, 2), np.float32)
        found["rows", n] = dist.gather_arrays(rows, n, 2)[:, 0].tolist()
    found["map"] = dist.shared_map(lambda item: item**2, list(range(7)))
    found["draws"] = int(torch.randint(1000, (), generator=dist.own_generator(torch.Generator().manual_seed(3))))
    cluster_count.choose_k = lambda x, scaled, seed: without_evidence(dist.rank() + 2, "as many as the rank says")
    Counted._choose_clusters(counted := Counted(), np.empty((1, 1)), SimpleNamespace(seed=0, notes=[]))
    found["number"] = counted.n_clusters_
    return found | {fault: broken_gather(fault) for fault in FAULTS}


def small_blocks():
    """Blocks so small that every process has some."""
    duplicates.CHUNK, pictures.BLOCK, EMBED.BATCH = 2, 2, 16


def worker(rank, world, port, folder):
    torch.set_num_threads(1)
    small_blocks()
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    assert dist.join()
    torch.save(several(world, rank, Path(folder)), f"{folder}/{rank}.pt")
    dist.leave()


def write_pictures(folder):
    """Nine colour pictures, and a file that is none."""
    folder.mkdir()
    for i, pixels in enumerate(np.random.default_rng(0).integers(0, 256, (9, 8, 8, 3), dtype=np.uint8)):
        Image.fromarray(pixels).save(folder / f"{i}.png")
    (folder / "4a.png").write_bytes(b"no picture")


def write_table(folder, pictures):
    """The pictures in three Parquet files, in row groups of two, if there is a package that writes them."""
    if find_spec("pyarrow") is None:
        return
    import pyarrow
    from pyarrow import parquet

    folder.mkdir()
    files = sorted(pictures.glob("?.png"))
    for i in range(3):
        cells = [{"bytes": file.read_bytes(), "path": file.name} for file in files[i::3]]
        parquet.write_table(pyarrow.table({"image": cells}), folder / f"{i}.parquet", row_group_size=2)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture(scope="module", params=[2, 4])
def found(request, tmp_path_factory):
    """What each of several processes has computed."""
    folder = tmp_path_factory.mktemp("several")
    write_pictures(folder / "pictures")
    write_table(folder / "table", folder / "pictures")
    multiprocessing.set_forkserver_preload([__name__, "torch", "sklearn.cluster"])
    mp.start_processes(worker, (request.param, free_port(), str(folder)), request.param, start_method="forkserver")
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(request.param)]


def differing(one, several, tolerance):
    """The names of the values that are not the same."""
    assert one.keys() == several.keys()
    pairs = ((key, one[key].double(), several[key].double()) for key in one)
    return [key for key, a, b in pairs if not torch.allclose(a, b, rtol=tolerance, atol=tolerance)]


@pytest.mark.parametrize("name", CASES)
def test_several_processes_equal_one(found, name):
    for process in found:
        assert differing(alone(name), process[name], 1e-5 if name in REFRESHED else 1e-9) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_gather_with_a_fault_is_noticed(found, fault):
    for name, broken in found[0][fault].items():
        assert differing(alone(name), broken, 1e-4), name


def test_every_objective_is_compared():
    modules = [module for name, module in sys.modules.items() if name.startswith("c3clust.methods.")]
    objectives = {value for module in modules for name, value in vars(module).items() if name.endswith("Objective")}
    compared = {type(make_objective(make_network())) for make_network, make_objective in CASES.values()}
    trained_by_loop = {value for value in objectives if value.__module__.startswith("c3clust.methods.")}
    assert trained_by_loop == compared
    assert {value.__module__.split(".")[2] for value in compared} == set(methods.names()) - WITHOUT_NETWORK


def test_a_whole_stage_is_that_of_one(found):
    one = trained()
    for process in found:
        assert differing(one, process["trained"], 1e-9) == []


def test_batch_normalisation_is_over_the_batch_of_all(found):
    for process in found:
        assert differing(normalised(), process["batch norm"], 1e-9) == []


def test_the_work_around_training_is_that_of_one(found, tmp_path, monkeypatch):
    monkeypatch.setattr(EMBED, "BATCH", 16)
    write_pictures(tmp_path / "pictures")
    write_table(tmp_path / "table", tmp_path / "pictures")
    one = around(tmp_path)
    exact = one.keys() - {"head", "estimate", "k-means", "sizes", "nearest", "copies"}
    for process in found:
        several = process["around"]
        assert differing(one["head"], several["head"], 1e-4) == []
        assert several["estimate"] == pytest.approx(one["estimate"])
        for name in exact:
            assert np.array_equal(one[name], several[name]), name
        assert np.allclose(one["nearest"], several["nearest"], rtol=1e-6)
        assert all(map(np.array_equal, one["copies"], several["copies"]))
        assert rand_index(one["k-means"], several["k-means"]) == 1
    assert torch.allclose(one["sizes"], sum(process["around"]["sizes"] for process in found))
    assert one["skipped"] == ["4a.png"]
    assert one["copies"][1].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_work_is_shared_and_in_order(found):
    z_a, z_b = (nn.functional.normalize(x.double(), dim=1) for x in views())
    for process in found:
        assert process["positives"] == pytest.approx(positives_per_view(z_a, z_b, 0.3).item())
        assert all(process["rows", n] == list(range(n)) for n in (0, 1, 5, 11))
        assert process["map"] == [item**2 for item in range(7)]
        assert process["number"] == 2  # that of the first process
    assert len({process["draws"] for process in found}) == len(found)


def test_alone_everything_is_the_identity():
    x = torch.ones(2, requires_grad=True)
    assert dist.gather(x) is x
    assert dist.replicated(x) is x
    assert dist.of_first(lambda: 3) == 3
    assert (dist.rank(), dist.world_size(), dist.join()) == (0, 1, False)
