import json
from dataclasses import replace

import numpy as np
import pytest

from c3clust.records.edits import Edits
from c3clust.records.outliers import Outlier
from c3clust.report import Facts, summarise
from c3clust.report.payload import payload


def content(record, view, edits, run="RUN"):
    return payload(view, edits, summarise(Facts.of(record, view, edits, run)), run)


def test_the_payload_tells_sizes_scores_and_neighbours(made):
    data = content(made.record, made.view, Edits(10))
    assert data["title"] == "600 images in 10 clusters"
    assert [c["size"] for c in data["clusters"]] == np.bincount(made.labels).tolist()
    assert data["scores"] == {"acc": 0.8, "nmi": 0.75, "ari": 0.7}
    first = data["clusters"][0]
    centres = np.stack([made.z[made.labels == i].mean(axis=0) for i in range(10)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    cosine = centres @ centres[0]
    assert first["near"] == np.argsort(cosine)[-2]
    assert first["similarity"] == pytest.approx(np.sort(cosine)[-2], abs=1e-3)
    assert [stage["name"] for stage in data["stages"]] == ["cc", "c3"]
    assert data["made"]["params"][-1] == ["seed", "0"]


def test_the_confusion_table_adds_up(made):
    table = content(made.record, made.view, Edits(10))["confusion"]
    assert np.sum(table["counts"]) == 600
    assert table["totals"] == np.bincount(made.y).tolist()
    for row, cluster, accuracy, total in zip(
        table["counts"], table["matched"], table["accuracy"], table["totals"], strict=True
    ):
        assert row[table["clusters"].index(cluster)] / total == pytest.approx(accuracy, abs=1e-4)
    assert table["clusters"][: len(table["matched"])] == table["matched"]


def test_long_curves_are_thinned_and_empty_ones_left_out(made, new_record):
    curves = {"loss": list(np.linspace(9, 1, 3000)), "empty": [], "none": [None, None], "cluster_sizes": [[1, 2]] * 3}
    record = new_record(stages=[{"name": "cc", "epochs": 3000, "curves": curves}])
    (stage,) = content(record, made.view, Edits(10))["stages"]
    assert list(stage["curves"]) == ["loss"]
    assert len(stage["curves"]["loss"]["value"]) == 400
    assert stage["curves"]["loss"]["epoch"][-1] == 3000
    assert stage["seconds"] is None


def test_numbers_of_the_method_are_in_how_it_was_made(made, new_record, new_quality):
    zeta = "zeta 0.85 was chosen: each view settled with 14 positives."
    record = new_record(quality=new_quality(0.86, 0.5), notes=[zeta], encoder={"name": "e", "labels": "no"})
    data = content(record, made.view, Edits(10))
    top = json.dumps([data["verdict"], data["findings"]])
    assert "zeta" not in top
    assert "positives" not in top
    assert data["made"]["notes"] == [zeta]
    assert ["stage c3: positives per view", "14.0; 12.8 in balanced clusters"] in data["made"]["training"]
    assert data["made"]["encoder"] == [["name", "e"], ["labels", "no"]]
    rows = dict(data["made"]["quality"])
    assert rows["estimated accuracy"] == "0.860, interval 0.770 to 0.950"
    assert rows["prior"] == "0.5"
    assert rows["agreement, prior 0.25"] == "0.900"
    assert rows["neighbours in the same cluster, above chance"] == "members 0.850, k-means 0.800"
    assert rows["source of the result"] == "members"


def test_the_title_counts_clusters_that_hold_samples(made, new_record):
    view = made.view.merged(np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 8]))
    assert content(new_record(), view, Edits(10))["title"] == "600 images in 9 clusters"


def test_the_estimate_is_for_more_than_one_cluster(made, new_record, new_quality):
    record = new_record(quality=new_quality(1.0))
    assert content(record, made.view, Edits(10))["estimate"] == [1, 0.91, 1]
    assert content(new_record(), made.view, Edits(10))["estimate"] is None
    assert content(record, made.view.merged(np.zeros(10, int)), Edits(10))["estimate"] is None


def test_images_of_a_list_are_linked_from_its_folder(made, new_record, tmp_path):
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "0.png").write_bytes(b"")
    (tmp_path / "list.txt").write_text("a b/0.png")
    run, names = tmp_path / "runs" / "one", ["a b/0.png", *made.view.names[1:]]
    record = new_record(data={"place": str(tmp_path / "list.txt"), "n": 600, "skipped": []})
    record.write(tmp_path / "record.json")  # by this user
    assert content(record, replace(made.view, names=names), Edits(10), str(run))["files"] == "./../../"
    names[0] = str(tmp_path / "a b" / "0.png")
    assert content(record, replace(made.view, names=names), Edits(10), str(run))["files"] is None


def test_values_of_the_record_are_in_words(made, new_record):
    place = {"place": "x", "n": 3, "skipped": [], "taken": "", "left": ["1 file of a kind", "2 of others"]}
    made_by = content(new_record(data=place, encoder={"seconds": 8.0298038}), made.view, Edits(10))["made"]
    assert made_by["data"] == [["place", "x"], ["n", "3"], ["left", "1 file of a kind; 2 of others"]]
    assert made_by["encoder"] == [["seconds", "8.0298"]]


def test_copies_of_an_outlier_are_counted_and_not_listed(made):
    far = Outlier("far", 3, 3, 1.2)
    names = list(made.view.names)
    view = replace(
        made.view, outliers=[(names[0], far), (names[1], far)], n_outliers=2, copies=[(names[0], [(names[1], 1.0)])]
    )
    found = content(made.record, view, Edits(10))["outliers"]
    assert found["n"] == 2
    assert [entry[1] for entry in found["listed"]] == [names[0]]
