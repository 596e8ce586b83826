import sys
from types import SimpleNamespace

import pytest
from torch import nn

from c3clust import encoders
from c3clust.errors import MissingExtraError


def test_timm_gives_its_model_and_its_pixels(monkeypatch):
    asked = {}

    def create_model(name, **options):
        asked.update(options, name=name)
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(2))

    config = {"input_size": (3, 24, 24), "mean": (0.5,) * 3, "std": (0.5,) * 3}
    stub = SimpleNamespace(
        create_model=create_model, data=SimpleNamespace(resolve_model_data_config=lambda model: config)
    )
    monkeypatch.setitem(sys.modules, "timm", stub)
    encoder = encoders.load("timm:tiny")
    assert asked == {"name": "tiny", "pretrained": True, "num_classes": 0}
    assert (encoder.size, encoder.width) == (24, 16)
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(MissingExtraError, match="pip install timm"):
        encoders.load("timm:tiny")
