"""One encoded image -> uint8 [3, S, S], or crops of it at its own size and aspect.

Every image is rotated upright (EXIF), converted to 8-bit RGB, and resized to S × S with an antialiased bilinear
filter, without cropping, as in the paper's evaluation. The first frame of an animation is used; transparency is
composited on white; 16-bit values are divided by 257. JPEGs much larger than S are decoded at a reduced scale of at
least 2 S; for crops, of at least S in the smallest crop. So they may have more pixels than other images. simplejpeg
decodes JPEG if it is installed, Pillow all else.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from c3clust.data.io.spans import Unreadable
from c3clust.files.limits import limit

if TYPE_CHECKING:
    from PIL.Image import Image, Transpose

EXTENSIONS = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".ppm", ".pgm", ".pbm",
)  # fmt: skip
AVIF, HEIF = (".avif",), (".heic", ".heif", ".hif")  # where Pillow was built with AVIF, and with pillow-heif
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF", "PPM")  # none that runs an external program
HEIF_KINDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1")
ORIENTATION = 0x0112
TURNS = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE"}  # of Pillow, by orientation
TURNS |= {6: "ROTATE_270", 7: "TRANSVERSE", 8: "ROTATE_90"}
SIDEWAYS = ("TRANSPOSE", "ROTATE_270", "TRANSVERSE", "ROTATE_90")  # width and height change places
JPEG = ("JPEG", "MPO")
REDUCED = 16  # times the limit of pixels: the size of a JPEG that is decoded at a reduced scale
TOO_LARGE = "too large"  # how the reason begins for images that could be read, but are not
SYSTEM = ("__MACOSX", "@eaDir")  # folders of metadata of macOS, and of thumbnails of Synology's servers
POINTER = b"version https://git-lfs.github.com/"


def is_image_name(name: str) -> bool:
    """Whether a file name is that of an image: a known extension, not hidden, not made by a system (SYSTEM).

    >>> is_image_name("a/b.JPEG"), is_image_name("a/._b.jpg"), is_image_name("a/notes.txt")
    (True, False, False)
    >>> is_image_name("@eaDir/b.jpg/SYNOPHOTO_THUMB_M.jpg")
    False
    """
    parts = name.replace("\\", "/").split("/")
    hidden = any((part.startswith(".") and part not in (".", "..")) or part in SYSTEM for part in parts)
    return not hidden and parts[-1].lower().endswith(extensions())


def names_an_image(path: str) -> bool:
    """Whether a path that the user gave ends like an image, also one of a format that needs another package.

    >>> names_an_image("old/.b.HEIC"), names_an_image("a/notes.txt")
    (True, False)
    """
    return path.lower().endswith(EXTENSIONS + AVIF + HEIF)


@cache
def extensions() -> tuple[str, ...]:
    """The endings of the image files that can be read here."""
    return EXTENSIONS + AVIF * ("AVIF" in formats()) + HEIF * ("HEIF" in formats())


@cache
def formats() -> tuple[str, ...]:
    """The formats that can be read here, as Pillow calls them; pillow-heif is registered if it is installed."""
    from PIL import features

    found = FORMATS + ("AVIF",) * bool(features.check("avif"))
    if find_spec("pillow_heif") is None:
        return found
    import pillow_heif

    pillow_heif.register_heif_opener()
    return (*found, "HEIF")


def decoder() -> str:
    """Name of the JPEG decoder in use, a part of the cache key."""
    return "simplejpeg" if _simplejpeg() else "pillow"


def longest_side(data: bytes) -> int:
    """The longer side in pixels, read from the header."""
    with _reasons(data):
        return max(_open(data, 1).size)


def decode(data: bytes, size: int) -> np.ndarray:
    """uint8 [3, size, size], or Unreadable with the reason."""
    from PIL.Image import Resampling

    with _reasons(data):
        image = _open(data, 2 * size)
        pixels = _pixels(image, data, 2 * size)
        turn = _turn(image)  # after decoding: Pillow itself rotates TIFFs while it decodes them
        picture = _to_rgb(pixels)
        if picture.size != (size, size):
            picture = picture.resize((size, size), Resampling.BILINEAR)
        if turn is not None:
            picture = picture.transpose(turn)
        return np.moveaxis(np.asarray(picture), 2, 0)


def decode_whole(data: bytes, longest: int) -> np.ndarray:
    """The upright image in its own aspect, uint8 [height, width, 3], with sides of at most `longest`; to look at."""
    from PIL.Image import Resampling

    with _reasons(data):
        image = _open(data, longest)
        pixels = _pixels(image, data, longest)
        turn = _turn(image)
        picture = _to_rgb(pixels)
        picture.thumbnail((longest, longest), Resampling.BILINEAR)
        return np.asarray(picture if turn is None else picture.transpose(turn))


def decode_crops(data: bytes, draw: Callable[[int, int], np.ndarray], size: tuple[int, int]) -> np.ndarray:
    """uint8 [V, 3, *size]: parts of the upright image, resized as in `decode` (and in torchvision, for images).

    draw: (height, width) of the image -> boxes [V, 4] (top, left, height, width). A JPEG is decoded at the smallest
    scale at which no crop has fewer pixels than the result, or at its own.
    """
    from PIL.Image import Resampling

    with _reasons(data):
        image = _open(data, max(size))
        if image.format not in JPEG:
            image.load()  # Pillow itself rotates TIFFs while it decodes them
        turn = _turn(image)
        width, height = image.size if turn is None or turn.name not in SIDEWAYS else image.size[::-1]
        boxes = draw(height, width)
        least = -(-min(width, height) * max(size) // max(1, int(boxes[:, 2:].min())))
        _check_size(image, least)
        picture = _to_rgb(_pixels(image, data, least))
        picture = picture if turn is None else picture.transpose(turn)
        scale = np.array([picture.height / height, picture.width / width] * 2)
        crops = []
        for top, left, h, w in np.rint(boxes * scale).astype(int).tolist():
            crop = picture.crop((left, top, max(left + w, left + 1), max(top + h, top + 1)))
            crops.append(np.asarray(crop.resize(size[::-1], Resampling.BILINEAR)))
        return np.moveaxis(np.stack(crops), 3, 1)


@contextmanager
def _reasons(data: bytes) -> Iterator[None]:
    """Turns any error of Pillow into Unreadable, with a short reason without memory addresses or paths."""
    from PIL import UnidentifiedImageError

    try:
        yield
    except Unreadable:
        raise
    except UnidentifiedImageError as error:
        raise Unreadable(_not_readable(data)) from error
    except Exception as error:  # Pillow raises almost anything on hostile bytes
        raise Unreadable((str(error).strip().splitlines() or [type(error).__name__])[0]) from error


def _not_readable(data: bytes) -> str:
    """Why no decoder reads these bytes. Those of HEIC begin with a size, "ftyp" and the kind."""
    if data[4:8] == b"ftyp" and data[8:12] in HEIF_KINDS and "HEIF" not in formats():
        return "a HEIC image: pip install 'c3clust[heic]' to read it"
    if data.startswith(POINTER):
        return "a Git LFS pointer, not the image itself: run git lfs pull"
    return "not a readable image: damaged, or of another format"


def _open(data: bytes, least: int) -> "Image":
    """Open the image; its size is checked before any pixel is decoded. least: side of a JPEG that is reduced."""
    from PIL import Image

    if not data:
        raise Unreadable("an empty file")
    Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS or 0, REDUCED * limit("C3CLUST_MAX_PIXELS"))
    image = Image.open(io.BytesIO(data), formats=formats())
    _check_size(image, least)
    return image


def _check_size(image: "Image", least: int) -> None:
    """Unreadable if the image has too many pixels; a JPEG is counted at the scale at which it is decoded.

    Not a progressive one, which needs the memory of the whole image at any scale.
    """
    (width, height), most = image.size, limit("C3CLUST_MAX_PIXELS")
    reduced = image.format in JPEG and not image.info.get("progressive") and width * height <= REDUCED * most
    w, h = _reduced(image.size, least) if reduced else image.size
    if w * h > most:
        raise Unreadable(
            f"{TOO_LARGE}: {width:,} × {height:,} pixels, more than {most:,}. Raise the limit with --max-pixels"
        )


def _turn(image: "Image") -> "Transpose | None":
    """The transposition for the EXIF orientation; None if the image is upright or its EXIF data are damaged."""
    from PIL.Image import Transpose

    try:
        return Transpose[TURNS[image.getexif()[ORIENTATION]]]
    except Exception:
        return None


def _pixels(image: "Image", data: bytes, least: int) -> "Image":
    """The decoded image, by simplejpeg if possible, else by Pillow; a JPEG perhaps reduced to sides of `least`."""
    from PIL.Image import fromarray

    jpeg = image.format in JPEG
    fast = _simplejpeg()
    if jpeg and fast and image.mode in ("RGB", "L"):
        try:
            colours = "RGB" if image.mode == "RGB" else "GRAY"
            width, height = _reduced(image.size, least)
            pixels = fast.decode_jpeg(data, colours, min_height=height, min_width=width)
            return fromarray(pixels if colours == "RGB" else pixels[..., 0])
        except ValueError:
            pass  # Pillow may still be able to read it
    if jpeg:
        image.draft(image.mode, (least, least))
    image.load()
    return image


def _reduced(size: tuple[int, int], least: int) -> tuple[int, int]:
    """Width and height at the scale (1, 1/2, 1/4 or 1/8) that Pillow would choose, so that both decoders agree."""
    scale = next((s for s in (8, 4, 2) if min(size) // least >= s), 1)
    return -(-size[0] // scale), -(-size[1] // scale)


def _to_rgb(image: "Image") -> "Image":
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":
        image = Image.fromarray(_to_8_bits(np.asarray(image), image.mode))
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")


def _to_8_bits(values: np.ndarray, mode: str) -> np.ndarray:
    """16-bit values / 257. The scale of 32-bit values follows from their range: up to 1 (floats), 255 or 65535."""
    values = values.astype(np.float32)
    low, high = float(values.min()), float(values.max())
    if not (low >= 0 and high <= 65535):
        raise Unreadable(f"values from {low:g} to {high:g}: they must be in 0 to 65535")
    if mode == "F" and high <= 1:
        return np.rint(values * 255).astype(np.uint8)
    deep = mode.startswith("I;16") or high > 255
    return np.rint(values / 257 if deep else values).astype(np.uint8)


@cache
def _simplejpeg() -> ModuleType | None:
    try:
        import simplejpeg
    except ImportError:
        return None
    return simplejpeg
