"""A saved run as an encoder. Runs on texts and tables: test_text.py, test_rows.py."""

import numpy as np
import pytest

from c3clust import CC, KMeans, load
from c3clust.errors import RunError

QUICK = {"n_clusters": 2, "random_state": 0, "batch_size": 8}


def test_a_run_is_an_encoder(tmp_path, pictures):
    x = pictures(side=16)
    first = CC(backbone="convnet", epochs=2, projection_dim=6, **QUICK).fit(x)
    first.save(tmp_path / "first")
    second = KMeans(2, encoder=str(tmp_path / "first"), random_state=0).fit(x)
    np.testing.assert_allclose(second.transform(x[:3]).shape, (3, 6))
    assert second.encoder_note_["labels"] == "no"
    second.save(tmp_path / "second")
    np.testing.assert_array_equal(load(tmp_path / "second", encoder=str(tmp_path / "first")).predict(x), second.labels_)
    CC(backbone="convnet", epochs=1, projection_dim=6, **QUICK).fit(x).save(tmp_path / "first")
    with pytest.raises(RunError, match="has other weights than the installed one"):
        load(tmp_path / "second", encoder=str(tmp_path / "first"))
