"""The seal of a file: proof that this user wrote it.

A request, a record or a list of jobs contains paths that a later command reads from or writes to. Its seal is a keyed
hash (HMAC-SHA256) of the content; the key is a file in the home folder that is made when it is first needed and that
only its owner can read. A file without a valid seal is untrusted: its paths are then not used
(docs/SECURITY.md). The seal belongs to the content, not to its place: run folders can be moved. Where there is no home
folder, nothing is sealed.
"""

import contextlib
import hashlib
import hmac
import json
import os
from pathlib import Path
from typing import Any

from c3clust.files.atomic import read_bytes, remove, sync

__all__ = ["is_own", "seal"]

BYTES = 32


def seal(kind: str, content: Any) -> str:
    """The seal of a content that JSON can hold; "" where no key can be kept."""
    key = _read_key() or _make_key()
    return "" if key is None else _digest(key, kind, content)


def is_own(kind: str, content: Any, found: Any) -> bool:
    """Whether this user sealed this content."""
    key = _read_key()
    return (
        key is not None and isinstance(found, str) and hmac.compare_digest(_digest(key, kind, content), _ascii(found))
    )


def _digest(key: bytes, kind: str, content: Any) -> str:
    text = json.dumps(json.loads(json.dumps(content)), sort_keys=True)
    return hmac.new(key, f"{kind}\0{text}".encode(), hashlib.sha256).hexdigest()


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _path() -> Path | None:
    """$XDG_STATE_HOME/c3clust/key or ~/.local/state/c3clust/key; None without a home folder."""
    given = os.environ.get("XDG_STATE_HOME", "")
    try:
        return (Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state") / "c3clust" / "key"
    except RuntimeError:
        return None


def _read_key() -> bytes | None:
    path = _path()
    with contextlib.suppress(OSError):
        if path is not None and len(key := read_bytes(path, BYTES)) == BYTES:
            return key
    return None


def _make_key() -> bytes | None:
    """Make the key, unless another process just did: a link to a complete file never replaces one."""
    path = _path()
    if path is None:
        return None
    new = path.with_name(f".key.{os.urandom(6).hex()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(os.urandom(BYTES))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
        sync(path.parent)
    except OSError:
        return None
    finally:
        remove(new)
    return _read_key()
