"""The README's Python example runs as it stands, and so do its commands, and those of docs/index.md, on small data."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from PIL import Image
from sklearn.utils import Bunch

import c3clust

ROOT = Path(__file__).parent.parent
README, START, API = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/index.md", "docs/api.md")
)


def blocks(language, text=README):
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture(autouse=True)
def few_digits(monkeypatch):
    """The digits are 200, so that examples with them take seconds."""
    digits = sklearn.datasets.load_digits()
    few = Bunch(images=digits.images[:200], data=digits.data[:200], target=digits.target[:200])
    monkeypatch.setattr("sklearn.datasets.load_digits", lambda: few)


def test_the_python_example_runs(capsys):
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out


def commands():
    """The lines that start with c3clust."""
    lines = [line.split("#")[0].strip() for block in blocks("sh", README + START) for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("c3clust ")]


def test_the_commands_run_in_order(c3clust, tmp_path):
    rng = np.random.default_rng(0)
    for folder in ("photos", "tomorrow"):
        (tmp_path / folder).mkdir()
        for i in range(16):
            pixels = rng.integers(0, 255, (12, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / folder / f"{i}.jpg")
    people = [f"{rng.integers(20, 80)},{('cook', 'smith')[i % 2]},{'' if i == 5 else i / 7}" for i in range(16)]
    (tmp_path / "people.csv").write_text("\n".join(["age,job,pay", *people]))
    assert len(commands()) >= 6
    for words in commands():
        quick = ["--set", "epochs=1"] if words[0] == "fit" else []
        done = c3clust(*words, *quick, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stderr)
    assert (tmp_path / "new.csv").exists()
    assert (tmp_path / "runs" / "photos" / "report.html").exists()


def test_the_readme_fits_on_two_screens():
    assert len(README.splitlines()) <= 100
    assert README.index("![") < README.index("## ")  # pictures first


def test_links_lead_to_files():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+\.md)\)", page.read_text(encoding="utf-8")):
            generated = page.parent == ROOT / "docs" and target.startswith("methods/")
            assert generated or (page.parent / target).exists(), (page.name, target)


def test_the_reference_has_every_public_name():
    for name in c3clust.__all__:
        home, attribute = c3clust._HOME[name]
        assert f"{home}.{attribute}" in API or (home in API and f"`{name}`" in API.replace("c3clust.", "")), name


@pytest.mark.parametrize("target", ["demo", "test", "setup", "check", "docs"])
def test_the_makefile_has_the_targets(target):
    assert re.search(rf"^{target}:", (Path(__file__).parent.parent / "Makefile").read_text(), flags=re.MULTILINE)
