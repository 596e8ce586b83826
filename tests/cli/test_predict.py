"""predict and evaluate."""

import csv
import json

import pytest
from PIL import Image


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_predict_agrees_with_the_run(c3clust, run, photos, tmp_path):
    done = c3clust("predict", run, photos, "-o", tmp_path / "out.csv")
    assert done.returncode == 0, done.stderr
    here = [(r["name"], r["cluster"]) for r in rows(tmp_path / "out.csv")]
    assert here == [(r["name"], r["cluster"]) for r in rows(run / "assignments.csv")]
    assert c3clust("predict", run, photos).stdout.replace("\r\n", "\n") == (tmp_path / "out.csv").read_text()


def test_predict_takes_one_new_picture_of_another_size(c3clust, run, tmp_path):
    (tmp_path / "new").mkdir()
    Image.new("RGB", (50, 30), "white").save(tmp_path / "new" / "x.jpg")
    assert c3clust("predict", run, tmp_path / "new").stdout.startswith("name,cluster,confidence")


def test_predict_takes_several_pictures(c3clust, run, photos, tmp_path):
    pictures = [str(photos / "dark" / "0.png"), str(photos / "light" / "1.png")]
    done = c3clust("predict", run, *pictures, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["source"] == [sample["name"] for sample in found["samples"]] == pictures
    assert json.loads(c3clust("predict", run, pictures[0], "--json").stdout)["source"] == pictures[0]


def test_predict_takes_a_list_of_paths(c3clust, run, photos, tmp_path):
    paths = [str(photos / "dark" / "0.png"), str(photos / "light" / "1.png")]
    (tmp_path / "list.txt").write_text("\n".join(paths))
    done = c3clust("predict", run, tmp_path / "list.txt", "--json")
    assert (done.returncode, "--outside" in done.stderr) == (2, True)
    done = c3clust("predict", run, tmp_path / "list.txt", "--json", "--outside")
    assert [sample["name"] for sample in json.loads(done.stdout)["samples"]] == paths
    assert "list.txt is a list of image files" in done.stderr
    (tmp_path / "texts.txt").write_text("a fox\na wolf\n")
    done = c3clust("predict", run, tmp_path / "texts.txt")
    assert done.stderr == "c3clust: These samples are texts, and this model was fitted to images.\n"


def test_several_sources_must_be_pictures(c3clust, run, photos, tmp_path):
    done = c3clust("predict", run, photos / "dark", photos / "light" / "1.png")
    assert done.returncode == 2
    assert f"{photos / 'dark'} is not an image file" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    done = c3clust("predict", run, photos / "light" / "1.png", tmp_path / "absent.png")
    assert done.returncode == 2
    assert f"{tmp_path / 'absent.png'} does not exist." in done.stderr


def test_the_folder_of_the_csv_file_must_exist(c3clust, run, photos, tmp_path):
    done = c3clust("predict", run, photos, "-o", tmp_path / "no" / "new.csv")
    assert done.returncode == 2
    assert f"the folder {tmp_path / 'no'} does not exist" in done.stderr


def test_no_json_file_is_filled_with_csv(c3clust, run, photos, tmp_path):
    done = c3clust("predict", run, photos, "-o", tmp_path / "new.json")
    assert done.returncode == 2
    assert "--json" in done.stderr
    assert not (tmp_path / "new.json").exists()


def test_evaluate_from_the_run_and_from_a_file(c3clust, run, tmp_path):
    own = json.loads(c3clust("evaluate", run, "--json").stdout)
    assert own == pytest.approx(json.loads((run / "record.json").read_text())["scores"])
    labels = tmp_path / "labels.csv"
    labels.write_text("label,name\n" + "".join(f"{r['cluster']},{r['name']}\n" for r in rows(run / "assignments.csv")))
    assert json.loads(c3clust("evaluate", run, "--labels", labels, "--json").stdout)["acc"] == 1.0
    assert "ACC" in c3clust("evaluate", run).stdout


@pytest.mark.parametrize("damage", ["truncate", "swap", "json", "missing", "params"])
def test_a_damaged_model_is_refused(c3clust, run, photos, tmp_path, damage):
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("model.json", "model.safetensors", "record.json"):
        (copy / name).write_bytes((run / name).read_bytes())
    weights, meta = copy / "model.safetensors", copy / "model.json"
    if damage == "truncate":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif damage == "swap":
        weights.write_bytes(b"\x80\x04K\x01.")
    elif damage == "json":
        meta.write_text("{}")
    elif damage == "missing":
        weights.unlink()
    else:
        changed = json.loads(meta.read_text())
        changed["params"]["n_clusters"] = 10**9
        meta.write_text(json.dumps(changed))
    done = c3clust("predict", copy, photos)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
