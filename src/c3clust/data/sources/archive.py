"""A .tar, .tar.gz (.bz2, .xz) or .zip of images, read in place.

Nothing is extracted by its path. Images in a .tar or .zip are read in place; those of a compressed .tar, which has no
random access, are copied to one temporary file. Links, encrypted files and paths outside the archive are rejected one
by one and listed in `Samples.skipped`. An archive that unpacks to too much (`limits.unpacked_limit`) is rejected, as is
one with sparse files or with headers above `C3CLUST_MAX_TAR_HEADER`.
"""

import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from c3clust.data.io.budget import Budget
from c3clust.data.io.decode import is_image_name
from c3clust.data.io.not_read import LeftOut
from c3clust.data.io.pictures import EncodedFiles, to_samples
from c3clust.data.io.spans import Span, Spool, too_large
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options
from c3clust.data.sources.folder import with_labels
from c3clust.errors import C3ClustError, DataError, first_line
from c3clust.files.limits import limit

TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
LOCAL_HEADER = struct.Struct("<26xHH")
HEADERS = (
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
)  # fmt: skip

SPARSE = "it contains a sparse file, which may unpack to any size"

Listed = Iterator[tuple[str, Span]]
Member = TypeVar("Member")


def claims(path: Path) -> Claim:
    return Claim.KIND if path.is_file() and path.name.lower().endswith((*TAR, ".zip")) else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """All images of the archive, sorted by their path in it."""
    left = LeftOut()
    files = list_archive(path, left.wants)
    return to_samples(with_labels(replace(files, left=left.sentences()), options), options)


def list_archive(path: Path, wanted: Callable[[str], bool] = is_image_name) -> EncodedFiles:
    """Names and spans of the members for which `wanted(name)` is true."""
    spool = Spool()
    try:
        listed = _zip(path, wanted) if path.name.lower().endswith(".zip") else _tar(path, wanted, spool)
        found = sorted(listed, key=lambda pair: pair[0])
        spool.close()
    except C3ClustError:
        raise
    except Exception as error:  # zipfile and tarfile raise almost anything on hostile bytes
        raise DataError(
            f"{path} is damaged or not an archive ({first_line(error)}). Create or download it again."
        ) from error
    return EncodedFiles.of(found, str(path), spool=spool, origin=[path])


def first_names(path: Path, n: int = 20) -> list[str]:
    """The names of the first n members, to recognise a layout; empty if the archive cannot be read."""
    try:
        if path.name.lower().endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                return archive.namelist()[:n]
        with open_tar(path, "r:*") as tar:
            return [member.name for member in islice(tar_members(tar), n)]
    except Exception:
        return []


def _tar(path: Path, wanted: Callable[[str], bool], spool: Spool) -> Listed:
    plain = path.name.lower().endswith(".tar") and _is_plain(path)
    with open_tar(path, "r:" if plain else "r|*") as archive:
        for member in _within_budget(path, tar_members(archive), lambda member: member.size if member.isreg() else 0):
            name = member.name.removeprefix("./")
            if member.isdir() or not wanted(name):
                continue
            refused = refused_member(name, member)
            if refused or plain:
                yield name, Span(str(path.absolute()), member.size, member.offset_data, refused=refused)
            elif stream := archive.extractfile(member):
                yield name, spool.add(stream.read())


def refused_member(name: str, member: tarfile.TarInfo) -> str:
    """The reason why a member of a tar must not be read; "" if it may."""
    special = "" if member.isreg() else "a link or special file"
    return _refused(name, member.size) or special or ("a sparse file" if member.issparse() else "")


class _CheckedTarInfo(tarfile.TarInfo):
    """The header of a member, refused if its size is negative, or if the headers that describe it are large together.

    tarfile would seek back in the file in an endless loop, or read all headers into memory: those of one member, and
    the global ones that came before. `pending` and `kept` are their sizes.
    """

    pending = 0
    kept = 0

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_CheckedTarInfo":
        member = super().frombuf(buf, encoding, errors)
        cls.pending = cls.pending + member.size if member.type in HEADERS else cls.kept
        cls.kept += member.size if member.type == tarfile.XGLTYPE else 0
        if member.size < 0 or cls.pending > limit("C3CLUST_MAX_TAR_HEADER"):
            raise tarfile.ReadError(f"headers that claim {member.size if member.size < 0 else cls.pending:,} bytes")
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError(SPARSE)
        return member

    def _proc_gnusparse_10(self, *_: Any) -> None:
        raise tarfile.ReadError(SPARSE)


def open_tar(source: Path | BinaryIO, mode: Any) -> tarfile.TarFile:
    """A tar whose headers are checked."""
    counted = type("CountedTarInfo", (_CheckedTarInfo,), {})  # counts the headers of this archive
    if isinstance(source, Path):
        return tarfile.open(source, mode, tarinfo=counted)
    return tarfile.open(fileobj=source, mode=mode, tarinfo=counted)


def tar_members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members in order. tarfile keeps them all, each with a copy of the global headers; here none is kept."""
    while (member := archive.next()) is not None:
        archive.members.clear()  # type: ignore[attr-defined]
        if member.size < 0:  # from an extended header
            raise tarfile.ReadError(f"a file that claims {member.size:,} bytes")
        yield member


def _zip(path: Path, wanted: Callable[[str], bool]) -> Listed:
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for member in _within_budget(path, archive.infolist(), lambda member: member.file_size):
            name = member.filename.replace("\\", "/")
            if not member.is_dir() and wanted(name):
                refused = _refused(name, member.file_size) or _refused_in_zip(member)
                offset = 0 if refused else _data_offset(file, member)
                deflated = member.compress_type == zipfile.ZIP_DEFLATED
                sizes = (member.file_size, offset, member.compress_size)
                yield name, Span(str(path.absolute()), *sizes, deflated, refused)


def _data_offset(file: BinaryIO, member: zipfile.ZipInfo) -> int:
    """The offset of a member's data: after its local header, whose name and extra field vary in length."""
    file.seek(member.header_offset)
    head = file.read(LOCAL_HEADER.size)
    if len(head) < LOCAL_HEADER.size or head[:4] != b"PK\3\4":
        raise zipfile.BadZipFile(f"no header for {member.filename}")
    name, extra = LOCAL_HEADER.unpack(head)
    return member.header_offset + LOCAL_HEADER.size + name + extra


def _refused(name: str, size: int) -> str:
    if name.startswith("/") or ".." in name.split("/") or name[1:2] == ":":
        return "its path leads out of the archive"
    return too_large(size)


def _refused_in_zip(member: zipfile.ZipInfo) -> str:
    if member.flag_bits & 1:
        return "encrypted"
    if member.external_attr >> 28 == 0xA:
        return "a link or special file"
    known = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return "" if known else f"compressed by method {member.compress_type}, which is not read"


def _is_plain(path: Path) -> bool:
    """Whether a .tar is not compressed, whatever its extension."""
    with path.open("rb") as file:
        return not file.read(6).startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0"))


def _within_budget(path: Path, members: Iterable[Member], size: Callable[[Member], int]) -> Iterator[Member]:
    """The members, as long as they unpack to a plausible number of bytes."""
    budget = Budget(path, path.stat().st_size)
    for member in members:
        budget.spend(size(member))
        yield member
