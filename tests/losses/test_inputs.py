"""A loss that is given rows that do not belong together, or that are not of unit length, says so."""

import pytest
import torch
from torch.nn import functional as F

from c3clust.errors import InputError
from c3clust.losses import onepass
from c3clust.losses.inputs import check_unit_rows
from c3clust.losses.terms import nt_xent
from c3clust.methods import adc, cc, dac, dccm, ddc, drc, gatcluster, iic, jule, mmdc, pica, propos, scan, tcl, temi
from c3clust.methods.c3.loss import c3_loss, one_pass_c3_loss

LABELS = torch.arange(64) % 3
PAIRS = {
    "c3": lambda a, b: c3_loss(a, b),
    "c3 in one pass": lambda a, b: one_pass_c3_loss(a, b, 0.6, 0.1),
    "cc, instances": cc.instance_loss,
    "cc, clusters": cc.cluster_loss,
    "in one pass": lambda a, b: onepass.instance_loss(a, b, 0.5),
    "nt_xent": lambda a, b: nt_xent(a, b, 0.5),
    "iic": iic.information_loss,
    "pica": pica.partition_loss,
    "drc": lambda a, b: drc.contrast_loss(a, b, 1.0),
    "dac": lambda a, b: dac.pair_loss(a, b, a, 0.9, 0.5),
    "dac, released": lambda a, b: dac.squared_loss(a, b, 0.9),
    "ddc": lambda a, b: ddc.relation_loss(a, b, torch.eye(len(a), dtype=torch.bool)),
    "dccm": lambda a, b: dccm.label_loss(a, b, 0.5),
    "gatcluster": gatcluster.invariance_loss,
    "adc": lambda a, b: adc.view_loss(a, b, a),
    "propos, alignment": propos.alignment_loss,
    "propos, scattering": lambda a, b: propos.scattering_loss(a, b, torch.ones(len(a), dtype=torch.bool)),
    "scan": scan.neighbour_loss,
    "scan, labels": lambda a, b: scan.self_label_loss(a, b, 0.5),
    "tcl": lambda a, b: tcl.twin_loss(a, b, LABELS[: len(a)]),
    "temi": lambda a, b: temi.information_loss(a[None], b[None], torch.ones(1, 5), torch.ones(len(a))),
    "temi, weights": lambda a, b: temi.pair_weights(a[None], b[None]),
}
UNIT = {
    "c3": lambda a: c3_loss(a, a),
    "propos": lambda a: propos.scattering_loss(a, a, torch.ones(len(a), dtype=torch.bool)),
    "tcl": lambda a: tcl.twin_loss(a, a, LABELS),
    "jule": lambda a: jule.triplet_loss(a, LABELS, LABELS[:, None]),
    "mmdc": lambda a: mmdc.target_loss(a, LABELS),
}


def rows(n=64, d=5):
    return F.normalize(torch.rand(n, d, generator=torch.Generator().manual_seed(0)), dim=1)


@pytest.mark.parametrize("name", PAIRS)
def test_rows_that_do_not_match(name):
    assert PAIRS[name](rows(), rows()).isfinite().all()
    with pytest.raises(InputError, match="shapes differ"):
        PAIRS[name](rows(), rows(32))


@pytest.mark.parametrize("name", UNIT)
def test_rows_that_are_not_of_unit_length(name):
    assert UNIT[name](rows()).isfinite().all()
    with pytest.raises(InputError, match="unit rows"):
        UNIT[name](2 * rows())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_unit_rows_of_any_precision_pass(dtype):
    check_unit_rows(z=F.normalize(rows().to(dtype), dim=1))
    check_unit_rows(z=torch.zeros(3, 4, dtype=dtype))
