import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from c3clust.data.io import decode as module
from c3clust.data.io.decode import decode, decode_whole, longest_side
from c3clust.data.io.spans import Unreadable


@pytest.fixture(params=["pillow", "simplejpeg"])
def either_decoder(request, monkeypatch):
    """Run with simplejpeg and as if it were not installed."""
    if request.param == "simplejpeg":
        pytest.importorskip("simplejpeg", reason="the extra c3clust[fast] is not installed")
    else:
        monkeypatch.setattr(module, "_simplejpeg", lambda: None)


def halves(left, right, width: int = 32, height: int = 32, mode: str = "RGB") -> Image.Image:
    image = Image.new(mode, (width, height), left)
    image.paste(right, (width // 2, 0, width, height))
    return image


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF", "PPM"])
def test_every_format_gives_the_picture(encode, picture, format):
    image = picture(40, 30)
    expected = np.asarray(image.resize((16, 16), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    out = decode(encode(image, format), 16)
    assert out.shape == (3, 16, 16)
    assert out.dtype == np.uint8
    assert np.abs(out.astype(int) - expected).mean() < 8


def test_same_size_png_is_kept_to_the_bit(encode, picture):
    image = picture(24, 24)
    np.testing.assert_array_equal(decode(encode(image), 24), np.asarray(image).transpose(2, 0, 1))


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_exif_orientation_is_undone(encode, orientation, format):
    upright = np.zeros((32, 32, 3), np.uint8)
    upright[:16, :16], upright[16:, 16:] = 255, 128  # no two of the eight turns look alike
    upright[:16, 16:, 0] = 255
    stored = Image.fromarray(upright)
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the turns whose inverse each orientation asks for
    if orientation > 1:
        stored = stored.transpose(Image.Transpose(undo[orientation]))
    exif = Image.Exif()
    exif[0x0112] = orientation
    out = decode(encode(stored, format, exif=exif.tobytes()), 32)
    assert np.abs(out.transpose(1, 2, 0).astype(int) - upright).mean() < 12


@pytest.mark.usefixtures("either_decoder")
def test_a_large_jpeg_is_decoded_at_reduced_scale_and_looks_the_same(encode, picture):
    image = picture(1000, 700)
    expected = np.asarray(image.resize((32, 32), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    assert np.abs(decode(encode(image, "JPEG", quality=95), 32).astype(int) - expected).max() < 8


@pytest.mark.parametrize("size", [(30, 30), (333, 517), (1000, 700)])
def test_both_jpeg_decoders_give_equal_pixels(encode, picture, monkeypatch, size):
    pytest.importorskip("simplejpeg", reason="the extra c3clust[fast] is not installed")
    data = encode(picture(*size), "JPEG")
    fast = [decode(data, side) for side in (16, 32, 64)]
    monkeypatch.setattr(module, "_simplejpeg", lambda: None)
    for side, pixels in zip((16, 32, 64), fast, strict=True):
        np.testing.assert_array_equal(decode(data, side), pixels)


@pytest.mark.usefixtures("either_decoder")
def test_grey_and_cmyk_jpeg(encode):
    grey = decode(encode(Image.new("L", (32, 32), 100), "JPEG"), 32)
    assert np.abs(grey.astype(int) - 100).max() <= 1
    cmyk = decode(encode(Image.new("CMYK", (32, 32), (0, 255, 255, 0)), "JPEG"), 32)
    assert (cmyk[0] > 230).all()
    assert (cmyk[1:] < 25).all()


def test_16_bit_png_and_tiff_are_scaled_not_clipped(encode):
    for format in ("PNG", "TIFF"):
        deep = Image.fromarray(np.full((8, 8), 128 * 257, np.uint16))
        np.testing.assert_array_equal(decode(encode(deep, format), 8), 128)


def test_float_and_32_bit_tiff(encode):
    for value, expected in [(0.5, 128), (200.0, 200), (257 * 3.0, 3)]:
        out = decode(encode(Image.fromarray(np.full((8, 8), value, np.float32)), "TIFF"), 8)
        np.testing.assert_array_equal(out, expected)
    with pytest.raises(Unreadable, match="65535"):
        decode(encode(Image.fromarray(np.full((8, 8), 1e9, np.float32)), "TIFF"), 8)


@pytest.mark.parametrize("format", ["PNG", "WEBP", "TIFF"])
def test_transparency_is_laid_on_white(encode, format):
    image = halves((255, 0, 0, 255), (0, 0, 0, 0), mode="RGBA")
    out = decode(encode(image, format, **({"lossless": True} if format == "WEBP" else {})), 32)
    assert out[:, 0, 0].tolist() == [255, 0, 0]
    assert out[:, 0, 31].tolist() == [255, 255, 255]


def test_grey_with_alpha_and_palette_with_transparency(encode):
    grey = decode(encode(Image.new("LA", (8, 8), (0, 0))), 8)
    assert (grey == 255).all()
    palette = halves((255, 0, 0), (0, 0, 255)).quantize(2)
    out = decode(encode(palette, transparency=palette.getpixel((0, 0))), 32)
    assert out[:, 0, 0].tolist() == [255, 255, 255]
    assert out[:, 0, 31].tolist() == [0, 0, 255]


def test_one_bit_images_and_palettes_without_transparency(encode):
    assert decode(encode(Image.new("1", (8, 8), 1)), 8).min() == 255
    assert decode(encode(Image.new("RGB", (8, 8), (9, 8, 7)).quantize(4)), 8)[:, 0, 0].tolist() == [9, 8, 7]


def test_the_first_frame_of_an_animation_counts(encode):
    frames = [Image.new("RGB", (16, 16), colour) for colour in ((255, 0, 0), (0, 255, 0))]
    for format in ("GIF", "WEBP", "TIFF"):
        data = encode(frames[0], format, save_all=True, append_images=frames[1:])
        out = decode(data, 16)[:, 8, 8].astype(int)
        assert abs(out - [255, 0, 0]).max() < 12


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [10_000, 50_000, 2**31 - 1])
def test_decompression_bombs_are_refused_before_a_pixel_is_decoded(side):
    with pytest.raises(Unreadable, match=r"pixels|exceeds limit|bomb"):
        decode(png_header(side, side), 32)


@pytest.mark.usefixtures("either_decoder")
def test_truncated_and_lying_files_are_refused(encode, picture):
    jpeg, png = encode(picture(200, 200), "JPEG"), encode(picture(200, 200))
    hostile = [
        jpeg[: len(jpeg) // 2],
        png[: len(png) // 2],
        png_header(500, 500),
        b"",
        b"GIF89a",
        b"not an image",
        jpeg[:20],
    ]
    for data in hostile:
        with pytest.raises(Unreadable) as caught:
            decode(data, 32)
        assert str(caught.value)
        assert "0x" not in str(caught.value)


def test_formats_that_run_other_programs_are_not_opened():
    with pytest.raises(Unreadable, match="not a readable image"):
        decode(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", 8)


def test_longest_side_reads_the_header_only(encode, picture):
    data = encode(picture(300, 50), "JPEG")
    assert longest_side(data[:700]) == 300
    with pytest.raises(Unreadable):
        longest_side(b"nothing")


def test_random_bytes_never_raise_anything_else(encode, picture):
    rng = np.random.default_rng(0)
    sources = [encode(picture(30, 30), format) for format in ("PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP")]
    for trial in range(300):
        data = bytearray(sources[trial % len(sources)])
        for position in rng.integers(0, len(data), 8):
            data[position] = rng.integers(256)
        try:
            assert decode(bytes(data), 8).shape == (3, 8, 8)
        except Unreadable:
            continue
        except (UserWarning, Warning):
            continue  # here warnings are errors; a run ignores those about odd metadata


@pytest.mark.usefixtures("either_decoder")
def test_a_jpeg_above_the_limit_is_decoded_at_a_reduced_size(encode, picture, monkeypatch):
    image = picture(640, 480)
    whole = decode(encode(image, "JPEG", quality=95), 32)
    monkeypatch.setenv("C3CLUST_MAX_PIXELS", "100000")
    np.testing.assert_array_equal(decode(encode(image, "JPEG", quality=95), 32), whole)
    assert longest_side(encode(image, "JPEG")) == 640
    for data in (encode(image, "PNG"), encode(image, "JPEG", progressive=True)):
        with pytest.raises(Unreadable, match=r"too large: 640 × 480 pixels.*--max-pixels"):
            decode(data, 32)
    with pytest.raises(Unreadable, match="too large"):
        decode(encode(image, "JPEG"), 320)  # its reduced size is above the limit too
    monkeypatch.setenv("C3CLUST_MAX_PIXELS", "10000")
    with pytest.raises(Unreadable, match="too large"):
        decode(encode(image, "JPEG"), 32)


def test_a_git_lfs_pointer_is_named():
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    with pytest.raises(Unreadable, match=r"Git LFS pointer.*git lfs pull"):
        decode(pointer, 32)


def test_an_image_to_look_at_keeps_its_aspect(encode, picture):
    assert decode_whole(encode(picture(640, 480), "JPEG"), 64).shape == (48, 64, 3)
