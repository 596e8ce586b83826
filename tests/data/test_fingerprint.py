import numpy as np

from c3clust import data
from c3clust.data.sources.arrays import from_array


def test_equal_content_equal_fingerprint_and_any_pixel_counts():
    x = np.random.default_rng(0).integers(0, 256, (50, 1, 8, 8), dtype=np.uint8)
    same, other = x.copy(), x.copy()
    other[37, 0, 3, 3] ^= 1
    print_of = {name: data.fingerprint(from_array(a)) for name, a in {"x": x, "same": same, "other": other}.items()}
    assert print_of["x"] == print_of["same"] != print_of["other"]
    assert len(print_of["x"]) == 64


def test_shape_and_type_count():
    x = np.zeros((4, 1, 6, 6), np.uint8)
    prints = {data.fingerprint(from_array(a)) for a in (x, x.reshape(4, 1, 4, 9), x.astype(np.float32), x[:3])}
    assert len(prints) == 4


def test_labels_do_not_count():
    x = np.zeros((4, 1, 6, 6), np.uint8)
    assert data.fingerprint(from_array(x, [0, 1, 0, 1])) == data.fingerprint(from_array(x))


def test_a_stream_has_a_stable_fingerprint_that_follows_names_and_sizes(photos, picture):
    first = data.fingerprint(data.load(photos, memory=0))
    assert data.fingerprint(data.load(photos, memory=0)) == first
    (photos / "ant" / "0.png").rename(photos / "ant" / "00.png")
    assert data.fingerprint(data.load(photos, memory=0)) != first


def test_a_large_array_is_sampled(monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules["c3clust.data.fingerprint"], "WHOLE", 10)
    x = np.zeros((100, 1, 8, 8), np.uint8)
    assert data.fingerprint(from_array(x)) == data.fingerprint(from_array(x.copy()))
    assert data.fingerprint(from_array(x)) != data.fingerprint(from_array(x + 1))
