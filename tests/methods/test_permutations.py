"""A loss over pairs knows its pairs: shuffling one view against the rest changes it, shuffling all alike does not.

Whole steps are compared, not single functions: a walk from a to b and back is a loss over pairs or not, depending on
what a method gives it.
"""

import pytest
import torch
from torch import nn

from c3clust import methods
from c3clust.methods.adc import ADCObjective, AssociationNet
from c3clust.methods.c3 import C3Objective
from c3clust.methods.c3_adaptive.estimator import AdaptiveObjective
from c3clust.methods.cc import CCObjective, InstanceObjective
from c3clust.methods.consensus import GuidedObjective
from c3clust.methods.dac import DACObjective
from c3clust.methods.dccm import CorrelationNet, DCCMObjective
from c3clust.methods.ddc import DDCObjective
from c3clust.methods.dec_da import DECDAObjective
from c3clust.methods.drc import DRCObjective
from c3clust.methods.gatcluster import AttentionNet, GATClusterObjective
from c3clust.methods.iic import IICObjective
from c3clust.methods.jule import JULEObjective
from c3clust.methods.mmdc import MMDCObjective, TurningNet
from c3clust.methods.pica import PICAObjective
from c3clust.methods.propos import Predicting, ProPosObjective
from c3clust.methods.scan import NeighbourObjective, SelfLabelObjective
from c3clust.methods.simclr import SimCLRObjective
from c3clust.methods.spice import SelfObjective, SemiObjective
from c3clust.methods.tcl import TCLObjective
from c3clust.methods.temi import TEMIObjective, UnitHeads
from c3clust.networks import ClusterNet
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.heads import InformationNet, LabelNet, LinearHeads, NeighbourNet, Projected
from c3clust.networks.readouts import Centred
from c3clust.training import Batch

N, WIDTH = 12, 8
LABELS = torch.arange(N) % 3
OTHERS = torch.tensor([0, 3, 1, 2, 5, 7, 4, 6, 9, 8, 11, 10])  # no sample keeps its cluster's order


def encoder():
    return nn.Sequential(nn.Linear(6, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU())


def cluster_net():
    return ClusterNet(encoder(), WIDTH, 4, 3)


def label_net():
    return LabelNet(encoder(), WIDTH, 3, 3.0)


def information_net():
    return InformationNet(encoder(), WIDTH, 3, 7, 1)


def neighbour_net():
    net = NeighbourNet(Projected(encoder(), WIDTH, 4), LinearHeads(WIDTH, 3, 2))
    nn.init.normal_(net.heads.linear.weight)
    return net


def association_net():
    return AssociationNet(encoder(), WIDTH, 4, 3)


def centred(body, width):
    net = Centred(body, width, 3)
    nn.init.normal_(net.readout.centres)
    return net


def with_state(objective, **state):
    for name, value in state.items():
        setattr(objective, name, value)
    return objective


BOTH, FIRST = ("x_a", "x_b"), ("x_a",)
CASES = {  # network, objective, the views that a step is given
    "cc": (cluster_net, lambda net: CCObjective(0.5, 1.0), BOTH),
    "cc instances": (cluster_net, lambda net: InstanceObjective(0.5), BOTH),
    "c3": (cluster_net, lambda net: C3Objective(0.999, 0.1), BOTH),  # above zeta, all are pairs
    "c3_adaptive": (cluster_net, lambda net: AdaptiveObjective(0.999, 1.0, "follow"), BOTH),
    "consensus": (cluster_net, lambda net: GuidedObjective(LABELS, torch.linspace(0.2, 1, N), 0.5), BOTH),
    "tcl": (cluster_net, lambda net: with_state(TCLObjective(0.5, 0.5, 0.9), labels=LABELS - 1), BOTH),
    "simclr": (lambda: centred(Projected(encoder(), WIDTH, 4), WIDTH), lambda net: SimCLRObjective(0.5), BOTH),
    "scan": (neighbour_net, lambda net: NeighbourObjective(torch.zeros(N, 1), 5.0), BOTH),
    "scan self": (neighbour_net, lambda net: SelfLabelObjective(0.35), FIRST),
    "dac": (label_net, lambda net: DACObjective(4), BOTH),
    "dac released": (label_net, lambda net: DACObjective(4, "released"), FIRST),
    "dac photographs": (label_net, lambda net: DACObjective(4, "released-cifar10"), FIRST),
    "ddc": (label_net, lambda net: DDCObjective(0.1), BOTH),
    "drc": (label_net, lambda net: DRCObjective(3.0, 1.0, 2.0), BOTH),
    "dccm": (
        lambda: CorrelationNet(encoder(), WIDTH, WIDTH, 3),
        lambda net: DCCMObjective((5.0, 1.0, 0.0), 0.9, 0.4),  # mutual information draws its pairs at random
        FIRST,
    ),
    "gatcluster": (
        lambda: AttentionNet(encoder(), WIDTH, WIDTH, 3),
        lambda net: with_state(GATClusterObjective(3), labels=LABELS),
        FIRST,
    ),
    "iic": (information_net, lambda net: IICObjective(1.0), BOTH),
    "pica": (information_net, lambda net: PICAObjective(2.0), BOTH),
    "adc": (association_net, lambda net: ADCObjective(False), BOTH),
    "adc warmup": (association_net, lambda net: ADCObjective(True), BOTH),
    "jule": (
        lambda: centred(Projected(encoder(), WIDTH, 1), WIDTH),
        lambda net: JULEObjective(LABELS.numpy(), 5.0),
        FIRST,
    ),
    "propos": (
        lambda: centred(Predicting(encoder(), WIDTH, 4), 4),
        lambda net: with_state(ProPosObjective(3, 0.9, 0.1, 0.0, 0.5), labels=LABELS),
        BOTH,
    ),
    "mmdc": (lambda: TurningNet(encoder(), WIDTH, 3), lambda net: MMDCObjective(N, 3, 0.0, True), FIRST),
    "spice self": (neighbour_net, lambda net: SelfObjective(), FIRST),
    "spice semi": (neighbour_net, lambda net: SemiObjective(LABELS - 1, 0.35), FIRST),
    "temi": (lambda: UnitHeads(6, 3, 2, 0.5), lambda net: TEMIObjective(torch.zeros(N, 1), net, 0.6, 0.9), BOTH),
    "dec_da": (
        lambda: centred(Autoencoder((6,), (5,), 4), 4),
        lambda net: with_state(DECDAObjective(net, 0.1), sizes=torch.ones(3)),
        FIRST,
    ),
}


def loss(name, **shuffled):
    """The loss of one step on the same samples and views, some of them in the order given."""
    torch.manual_seed(0)
    make_network, make_objective, _ = CASES[name]
    network = make_network().double()
    x = torch.randn(N, 6, dtype=torch.float64)
    parts = {"x_a": x + 0.3 * torch.randn_like(x), "x_b": x + 0.3 * torch.randn_like(x), "x": x}
    parts["index"] = torch.arange(N)
    parts |= {key: parts[key][order] for key, order in shuffled.items()}
    batch = Batch(parts["x_a"], parts["x_b"], parts["index"])
    batch.__dict__["x"] = parts["x"]
    objective = make_objective(network)
    torch.manual_seed(1)
    if hasattr(objective, "losses"):
        return sum(value.item() for _, value in objective.losses(network, batch))
    return objective(network, batch)["loss"].item()


def test_every_method_with_pairs_is_here():
    paired = {name for name in methods.names() if "augment" in methods.load(name)().get_params()} | {"temi"}
    assert paired == {name.split()[0] for name in CASES}


@pytest.mark.parametrize(("name", "view"), [(name, view) for name, case in CASES.items() for view in case[2]])
def test_one_view_against_the_rest_changes_the_loss(name, view):
    assert abs(loss(name, **{view: OTHERS}) - loss(name)) > 1e-4


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"jule"}))  # whose negatives are random
def test_all_alike_do_not(name):
    alike = dict.fromkeys(("x_a", "x_b", "x", "index"), OTHERS)
    assert loss(name, **alike) == pytest.approx(loss(name), abs=1e-9)
