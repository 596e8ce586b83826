"""Every loss against the numbers of its authors' released function, in float64: value and gradient.

golden_losses.npz has numbers only: `NAME/in/X` inputs, `NAME/value`, `NAME/grad/X` the gradient with respect to X. Rows
of z are normalised and rows of logits go through a softmax before the loss, so gradients include that. A loss that
differs on purpose states its departure here, and its size.
"""

from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust.losses.terms import balanced_cross_entropy
from c3clust.methods import cc, dccm, edesc, gatcluster, iic, pica, propos, scan, spice, tcl, temi
from c3clust.methods.c3.loss import c3_loss

GOLDEN = np.load(Path(__file__).with_name("golden_losses.npz"))


def given(name: str, *inputs: str) -> list[Tensor]:
    return [torch.from_numpy(GOLDEN[f"{name}/in/{each}"]) for each in inputs]


def unit(rows: Tensor) -> Tensor:
    return F.normalize(rows, dim=1)


def cc_instance(z_a: Tensor, z_b: Tensor) -> Tensor:
    return cc.instance_loss(z_a, z_b, 0.5)


def cc_cluster(a: Tensor, b: Tensor) -> Tensor:
    return cc.cluster_loss(a.softmax(1), b.softmax(1), 1.0)


def c3_released(z_a: Tensor, z_b: Tensor) -> Tensor:
    """The released code has no weights, which adds log 2N, and divides the sum over 2N views by N."""
    return 2 * (c3_loss(unit(z_a), unit(z_b), 0.6, 0.0) + log(2 * len(z_a)))


def iic_with(lamb: float):
    return lambda a, b: iic.information_loss(a.softmax(1), b.softmax(1), lamb)


def pica_pui(a: Tensor, b: Tensor) -> Tensor:
    p = a.softmax(1)
    return pica.partition_loss(p, b.softmax(1)) + 2 * pica.size_loss(p)


def dccm_label(a: Tensor) -> Tensor:
    [clean] = given("dccm/label", "clean")
    return dccm.label_loss(a.softmax(1), clean, 0.9)


def scan_neighbours(a: Tensor, b: Tensor) -> Tensor:
    return scan.neighbour_loss(a.softmax(1), b.softmax(1), 5.0)


def scan_selflabel(strong: Tensor) -> Tensor:
    [weak] = given("scan/selflabel", "weak")
    return scan.self_label_loss(strong, weak.softmax(1), 0.9)


def tcl_instance(z_a: Tensor, z_b: Tensor) -> Tensor:
    [labels] = given("tcl/instance", "labels")
    return tcl.twin_loss(unit(z_a), unit(z_b), labels, 0.5)


def tcl_cluster(logits: Tensor) -> Tensor:
    [labels] = given("tcl/cluster", "labels")
    return balanced_cross_entropy(logits, labels.clamp_min(0), labels >= 0)


def temi_heads(logits: Tensor) -> Tensor:
    teacher, neighbour, sizes = given("temi/heads", "teacher", "teacher_neighbour", "sizes")
    w = temi.pair_weights(teacher, neighbour)
    return temi.information_loss(logits.softmax(2), neighbour, sizes, w, 0.6).sum()


def propos_scattering(q: Tensor) -> Tensor:
    k, labels = given("propos/scattering", "k", "labels")
    a, b = (propos.prototypes(unit(rows), labels, 10) for rows in (q, k))
    return propos.scattering_loss(a, b, torch.bincount(labels, minlength=10) > 0, 0.5)


def edesc_bases(bases: Tensor) -> Tensor:
    return 1e-3 * edesc.basis_loss(bases.reshape(50, 10, 5).transpose(0, 1))


def gatcluster_relation(a: Tensor) -> Tensor:
    [relation] = given("gatcluster/relation", "relation")
    return gatcluster.relation_loss(a.softmax(1), relation)


LOSSES = {
    "cc/instance": (cc_instance, ("za", "zb")),
    "cc/cluster": (cc_cluster, ("ca", "cb")),
    "c3/released": (c3_released, ("za", "zb")),
    "iic/lamb1": (iic_with(1.0), ("ca", "cb")),
    "iic/lamb1.5": (iic_with(1.5), ("ca", "cb")),
    "pica/pui": (pica_pui, ("ca", "cb")),
    "dccm/label": (dccm_label, ("ca",)),
    "scan/neighbours": (scan_neighbours, ("ca", "cb")),
    "scan/selflabel": (scan_selflabel, ("strong",)),
    "tcl/instance": (tcl_instance, ("za", "zb")),
    "tcl/cluster": (tcl_cluster, ("c",)),
    "temi/heads": (temi_heads, ("logits",)),
    "propos/scattering": (propos_scattering, ("q",)),
    "edesc/bases": (edesc_bases, ("bases",)),
    "gatcluster/relation": (gatcluster_relation, ("ca",)),
}


def test_every_number_of_the_file_is_used():
    losses = {name.removesuffix("/value") for name in GOLDEN.files if name.endswith("/value")}
    assert losses == set(LOSSES)


@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradient(name):
    loss, names = LOSSES[name]
    inputs = [each.requires_grad_() for each in given(name, *names)]
    value = loss(*inputs)
    value.backward()
    np.testing.assert_allclose(value.item(), GOLDEN[f"{name}/value"], rtol=1e-11)
    for each, key in zip(inputs, names, strict=True):
        np.testing.assert_allclose(each.grad, GOLDEN[f"{name}/grad/{key}"], rtol=1e-9, atol=1e-14)


def test_gatcluster_targets():
    [p] = given("gatcluster/balanced", "p")
    np.testing.assert_allclose(gatcluster.balanced(p), GOLDEN["gatcluster/balanced/out"], rtol=1e-12)
    [clean] = given("dccm/label", "clean")
    np.testing.assert_allclose(gatcluster.attention_target(clean), GOLDEN["gatcluster/target/out"], rtol=1e-12)


def test_spice_chooses_the_same_samples():
    features, scores = given("spice/select", "features", "scores")
    chosen, labels = spice.prototype_labels(features, scores)
    np.testing.assert_array_equal(chosen.flatten(), GOLDEN["spice/select/out/index"])
    np.testing.assert_array_equal(labels.flatten(), GOLDEN["spice/select/out/labels"])
