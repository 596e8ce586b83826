"""Two views of a batch: c3clust.augment against the same pipeline in Pillow, one image at a time, as Markdown.

    python -m benchmarks.augment [--quick]

Both start from decoded images in memory at the size of the views (Pillow: Image objects; ours: one uint8 tensor) and
end with two float tensors [N, 3, h, w]. The Pillow pipeline is torchvision's: crop and resize in one call, ImageEnhance
for brightness, contrast and saturation, HSV for the hue, ImageFilter for the blur. One thread, best of several rounds
in which both take turns.
"""

import math
import random

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageFilter
from torch import Tensor

from benchmarks import harness
from c3clust import augment

ENHANCE = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)


def pillow_box(photo: augment.Photo, width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of a random resized crop."""
    for _ in range(10):
        area = width * height * random.uniform(*photo.scale)
        ratio = math.exp(random.uniform(math.log(photo.ratio[0]), math.log(photo.ratio[1])))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = random.randint(0, width - w), random.randint(0, height - h)
            return left, top, left + w, top + h
    return 0, 0, width, height


def pillow_hue(image: Image.Image, shift: float) -> Image.Image:
    hue, saturation, value = image.convert("HSV").split()
    turned = Image.fromarray(np.asarray(hue) + np.uint8(round(shift * 255) % 256))
    return Image.merge("HSV", (turned, saturation, value)).convert("RGB")


def pillow_view(photo: augment.Photo, image: Image.Image, side: int) -> np.ndarray:
    box = pillow_box(photo, *image.size)
    view = image.resize((side, side), Image.Resampling.BILINEAR, box=box)
    if random.random() < photo.flip:
        view = view.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if random.random() < photo.jitter_p:
        for k in random.sample(range(4), 4):
            if k == 3:
                view = pillow_hue(view, random.uniform(-0.2, 0.2) * photo.jitter)
            else:
                view = ENHANCE[k](view).enhance(1 + random.uniform(-0.8, 0.8) * photo.jitter)
    if random.random() < photo.grey:
        view = view.convert("L").convert("RGB")
    if random.random() < photo.blur:
        view = view.filter(ImageFilter.GaussianBlur(random.uniform(*photo.sigma)))
    return np.asarray(view)


def pillow_views(photo: augment.Photo, images: list[Image.Image], side: int) -> tuple[Tensor, ...]:
    stacks = (np.stack([pillow_view(photo, image, side) for image in images]) for _ in range(2))
    return tuple(torch.from_numpy(stack).permute(0, 3, 1, 2).contiguous().float().div_(255) for stack in stacks)


def pictures(n: int, side: int) -> Tensor:
    """Smooth random pictures with some texture, uint8 [n, 3, side, side]."""
    g = torch.Generator().manual_seed(0)
    coarse = torch.rand(n, 3, 8, 8, generator=g)
    smooth = torch.nn.functional.interpolate(coarse, (side, side), mode="bicubic")
    return (255 * (smooth + 0.1 * torch.randn(smooth.shape, generator=g)).clamp(0, 1)).to(torch.uint8)


def compare(photo: augment.Photo, side: int, n: int, rounds: int) -> tuple[float, float]:
    """Milliseconds for two views of a batch: Pillow, ours."""
    x = pictures(n, side)
    images = [Image.fromarray(image) for image in x.permute(0, 2, 3, 1).contiguous().numpy()]
    generator = torch.Generator().manual_seed(0)
    candidates = {
        "pillow": lambda: pillow_views(photo, images, side),
        "ours": lambda: augment.views(photo, x, (side, side), generator),
    }
    t = harness.best_times(candidates, rounds)
    return t["pillow"], t["ours"]


def rows(quick: bool) -> list[harness.Row]:
    random.seed(0)
    policies = {"photo": augment.Photo(), "jitter 1, blur 0.5": augment.Photo(jitter=1.0, blur=0.5)}
    found = []
    for name, photo in policies.items():
        for side, n, target in ((32, 256, 10), (64, 128, None), (224, 32, 2.5)):
            pillow, ours = compare(photo, side, n, rounds=2 if quick else 20)
            figure = f"two views against Pillow, {name}, {side} px"
            note = f"batch {n}, {pillow:.0f} ms against {ours:.1f} ms"
            if target is None:
                found.append(harness.Row(figure, "reported", f"{pillow / ours:.1f}×", None, note))
            else:
                found.append(harness.at_least(figure, pillow / ours, target, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__)
