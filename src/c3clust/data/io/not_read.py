"""Files of a folder or archive that are not read, counted by kind and reported at the end of a fit."""

from collections import Counter
from pathlib import PurePosixPath

from c3clust.data.io.decode import HEIF, SYSTEM, extensions, is_image_name

__all__ = ["LeftOut"]

MOST = 5  # kinds that are listed


class LeftOut:
    """Counts the files that are not read; `wants` decides."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.hidden = 0

    def wants(self, name: str) -> bool:
        """Whether a file is an image that is read; else it is counted."""
        if is_image_name(name):
            return True
        file = PurePosixPath(name)
        if any(part in SYSTEM for part in file.parts) or file.name.startswith("._"):  # metadata of a system
            return False
        if file.name.lower().endswith(extensions()):
            self.hidden += 1
        elif not file.name.startswith("."):
            self.kinds[file.suffix.lower() or "without an extension"] += 1
        return False

    def sentences(self) -> list[str]:
        """
        >>> left = LeftOut()
        >>> [left.wants(name) for name in ("a.png", "b.txt", ".thumbs/c.png")]
        [True, False, False]
        >>> left.sentences()
        ['1 file of a kind that is not read: 1 .txt', '1 image in a folder or file whose name begins with a dot']
        """
        found, n = [], self.kinds.total()
        if n:
            listed = [f"{count:,} {kind}" for kind, count in self.kinds.most_common(MOST)]
            more = (
                [f"{n - sum(c for _, c in self.kinds.most_common(MOST)):,} of others"] if len(self.kinds) > MOST else []
            )
            way = "; pip install 'c3clust[heic]' to read HEIC" if any(self.kinds[kind] for kind in HEIF) else ""
            kinds = "1 file of a kind that is" if n == 1 else f"{n:,} files of kinds that are"
            found.append(f"{kinds} not read: {', '.join([*listed, *more])}{way}")
        if self.hidden:
            images = (
                "1 image in a folder or file whose name begins"
                if self.hidden == 1
                else (f"{self.hidden:,} images in folders or files whose names begin")
            )
            found.append(f"{images} with a dot")
        return found
