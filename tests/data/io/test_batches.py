import numpy as np

from c3clust import data


def test_batches_of_an_array_and_of_a_memory_map_are_plain_arrays(tmp_path):
    x = np.arange(60, dtype=np.uint8).reshape(5, 3, 2, 2)
    np.save(tmp_path / "x.npy", x)
    index = [np.array([4, 0]), np.array([2])]
    for source in (x, np.load(tmp_path / "x.npy", mmap_mode="r")):
        got = list(data.batches(source, iter(index)))
        assert [type(batch) for batch in got] == [np.ndarray, np.ndarray]
        np.testing.assert_array_equal(got[0], x[[4, 0]])
        np.testing.assert_array_equal(got[1], x[[2]])
