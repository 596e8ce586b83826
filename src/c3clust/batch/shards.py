"""The shards of a folder or a URL: .tar files of images (WebDataset), or .parquet files of vectors, images or rows."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from c3clust.data.io import remote
from c3clust.data.io.cells import open_parquet
from c3clust.data.sources.folder import has_images
from c3clust.data.sources.shards import tar_files
from c3clust.errors import InputError
from c3clust.files.schema import Count

__all__ = ["Shard", "is_empty", "own_shards", "parse_part", "place_of", "shards_of"]


@dataclass(frozen=True)
class Shard:
    """Its file name and its size in bytes."""

    name: str
    bytes: Count

    @property
    def part(self) -> str:
        """The file name of what is computed of it."""
        return f"{PurePosixPath(self.name).stem}.parquet"


def shards_of(source: object) -> list[Shard] | None:
    """The shards of a source, in order; None if it is not a folder or a URL of shards."""
    if remote.is_url(source):
        urls = remote.list_tars(str(source))
        return [Shard(url.rpartition("/")[2], remote.size_of(url)) for url in urls] or None
    if not isinstance(source, str | Path) or not Path(source).is_dir() or has_images(Path(source)):
        return None
    files = tar_files(Path(source)) or sorted(each for each in Path(source).glob("*.parquet") if each.is_file())
    return [Shard(file.name, file.stat().st_size) for file in files] or None


def place_of(source: str, shard: Shard) -> str:
    """The path or URL of a shard."""
    if not remote.is_url(source):
        return str(Path(source) / shard.name)
    folder = source.rstrip("/") if "*" not in source and not source.endswith(".tar") else source.rpartition("/")[0]
    return f"{folder}/{shard.name}"


def is_empty(place: str) -> bool:
    """Whether a shard is a Parquet file without rows, as engines write one for an empty partition."""
    if not place.endswith(".parquet"):
        return False
    with open_parquet(Path(place)) as file:
        return bool(file.metadata.num_rows == 0)


def parse_part(text: str | None) -> tuple[int, int]:
    """The number of a worker, from 1, and the number of workers, of "i/n".

    >>> parse_part("2/8"), parse_part(None)
    ((2, 8), (1, 1))
    """
    number, _, of = (text or "1/1").partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise InputError(f"--part {text} is not the number of a worker and how many there are: 1/8, 2/8, ... 8/8.")
    return int(number), int(of)


def own_shards(shards: list[Shard], number: int, of: int) -> list[Shard]:
    """The shards of one of several workers: every n-th, so that shards of one kind are divided among all."""
    return shards[number - 1 :: of]
