"""Copies of pictures, texts and vectors; and what is none."""

import io
import random
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from c3clust.data import duplicates
from c3clust.data.samples import Column, Samples, Table, Texts

PHOTOS = Path(__file__).parents[3] / "shared" / "data" / "photos-subset.tar"


def names(n):
    return [str(i) for i in range(n)]


def found(dataset, features=None):
    """{copy: original} of a dataset."""
    result = duplicates.find(dataset, features)
    return {int(i): int(result.original[i]) for i in result.copies}


@pytest.mark.parametrize(
    "change",
    [{"scale": 0.5}, {"scale": 1.6}, {"quality": 25}, {"crop": 0.08}, {"scale": 0.7, "quality": 40, "crop": 0.06}],
)
def test_a_copy_is_found_whatever_was_done_to_it(pictures, change, altered, stack):
    copies = [altered(picture, **change) for picture in pictures[:6]]
    x = stack([*pictures, *copies])
    assert found(Samples(x, names(len(x)))) == {30 + i: i for i in range(6)}


def test_a_brighter_copy_is_one(pictures, stack):
    x = stack([*pictures, pictures[3].point(lambda value: min(255, int(value * 1.25 + 10)))])
    assert found(Samples(x, names(len(x)))) == {30: 3}


def test_pictures_that_share_their_large_shapes_are_not_copies(pictures, drawn, stack):
    """The same coarse picture under other details: a second photograph of the same scene."""
    coarse = np.asarray(pictures[0].resize((6, 6), Image.Resampling.BOX).resize((160, 160), Image.Resampling.BICUBIC))
    scenes = [Image.blend(Image.fromarray(coarse), detail, 0.35) for detail in drawn(8, seed=5)]
    x = stack([*pictures, *scenes])
    assert found(Samples(x, names(len(x)))) == {}


def test_the_same_pixels_are_exact_copies(pictures, stack):
    x = stack([*pictures, pictures[7]])
    result = duplicates.find(Samples(x, names(len(x))))
    assert result.copies.tolist() == [30]
    assert result.similarity[30] == 1


def test_small_pictures_are_compared_exactly_only():
    """Handwritten ones look alike and are no copies."""
    x = np.random.default_rng(0).random((20, 1, 8, 8)).astype(np.float32)
    near = np.clip(x[:1] + 1e-4, 0, 1)
    assert found(Samples(np.concatenate([x, near, x[1:2]]), names(22), content="handwriting")) == {21: 1}


def test_plain_pictures_are_told_apart_by_nothing_and_stay():
    x = np.repeat(np.arange(40, 60, dtype=np.uint8), 3 * 64 * 64).reshape(20, 3, 64, 64)
    assert found(Samples(x, names(20))) == {}


def test_texts_are_copies_if_they_have_the_same_words():
    texts = ["How do I top up?", "how do i TOP UP", "Where is my card", "Where is my new card", "Lost it"]
    assert found(Texts(np.array(texts, dtype=object), names(5))) == {1: 0}


def test_long_texts_that_share_nine_of_ten_words_are_near_copies():
    words = [f"word{i}" for i in range(40)]
    texts = [" ".join(words), " ".join([*words[:-1], "other"]), " ".join(words[:20]), "something else"]
    features = np.array([[1, 0], [1, 0.01], [0.9, 0.3], [0, 1]], dtype=np.float32)
    assert found(Texts(np.array(texts, dtype=object), names(4)), features) == {1: 0}


def test_rows_of_a_table_with_the_same_values_are_no_copies():
    table = Table(np.zeros((5, 2)), names(5), columns=(Column("a"), Column("b")))
    assert found(table) == {}


@pytest.mark.parametrize("seed", range(3))
def test_vectors_far_closer_than_neighbours_are_copies(seed):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(300, 10)) @ rng.normal(size=(10, 128))).astype(np.float32)
    near = x[:4] + 0.01 * rng.normal(size=(4, 128)).astype(np.float32)
    assert found(Samples(np.concatenate([x, near]), names(304))) == {300 + i: i for i in range(4)}
    assert found(Samples(x, names(300))) == {}


def test_a_tight_cluster_is_not_a_group_of_copies():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 100))
    x[:100] = 5 + 1e-3 * x[:100]
    assert found(Samples(x.astype(np.float32), names(200))) == {}


def test_copies_of_copies_are_one_group(pictures, altered, stack):
    x = stack([*pictures[:10], altered(pictures[0], crop=0.06), altered(pictures[0], scale=0.5), pictures[0]])
    assert found(Samples(x, names(13))) == {10: 0, 11: 0, 12: 0}


@pytest.mark.skipif(not PHOTOS.exists(), reason="the shared photographs are not here")
def test_copies_among_real_photographs(altered, stack):
    with tarfile.open(PHOTOS) as archive:
        files = [m for m in archive.getmembers() if m.isfile()]
        chosen = random.Random(3).sample(files, 80)
        photographs = [Image.open(io.BytesIO(archive.extractfile(m).read())).convert("RGB") for m in chosen]
    rng = random.Random(4)
    copies = [altered(p, rng.uniform(0.4, 1.4), rng.randint(30, 80), rng.uniform(0, 0.08)) for p in photographs[:20]]
    x = stack([*photographs, *copies], 192)
    assert found(Samples(x, names(100))) == {80 + i: i for i in range(20)}
