"""Tables that a person wrote, as Excel and PowerShell save them."""

import pytest

from c3clust.records.assignments import read_labels


@pytest.mark.parametrize("code", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", ",;\t")
def test_labels_in_other_dialects(tmp_path, code, separator):
    lines = [["name", "label"], ["größe.png", "cats, big"], ["b.png", "dogs"]]
    quoted = [[f'"{cell}"' if "," in cell else cell for cell in row] for row in lines]
    text = "".join(f"{separator.join(row)}\r\n" for row in quoted)
    (tmp_path / "labels.csv").write_text(text, encoding=code, newline="")
    assert read_labels(tmp_path / "labels.csv", ["größe.png", "b.png"]) == ["cats, big", "dogs"]
