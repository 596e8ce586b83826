"""Augmentation policies. Each is a frozen dataclass of its options."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor

from c3clust.augment import colour, geometry
from c3clust.augment.checks import check_number, check_probabilities, check_range
from c3clust.augment.handwriting import Handwriting
from c3clust.augment.scratch import scratch
from c3clust.augment.strong import Strong
from c3clust.augment.table import Rows
from c3clust.augment.text import Words
from c3clust.errors import InputError, suggest

Size = tuple[int, ...]  # (height, width), or (features,)
Policy = Callable[[Tensor, Size, torch.Generator], Tensor]

PIECE_PIXELS = 2**18  # output pixels per piece of a batch of photos, which bounds the memory


@dataclass(frozen=True)
class Photo:
    """The augmentations of SimCLR: random resized crop, horizontal flip, colour jitter, greyscale, blur.

    Every sample has its own parameters. The order of the four jitter operations is random, and shared by consecutive
    samples of 262144 output pixels: 256 samples at 32 pixels, 5 at 224 pixels. Unless there are three channels, only
    brightness and contrast are changed, channel by channel.

    Parameters
    ----------
    scale : fraction of the area of the image in a crop, from and to.
    ratio : width / height of a crop, from and to.
    flip : probability of a horizontal flip.
    jitter : strength s; brightness, contrast and saturation change by up to 0.8 s, hue by up to 0.2 s of the circle.
    hue : the largest change of the hue, as a fraction of the circle; None for 0.2 s.
    jitter_p : probability of the colour jitter.
    grey : probability of greyscale.
    blur : probability of a Gaussian blur, kernel 10 % of the view's side (23 at 224 pixels).
    sigma : standard deviation of the blur in pixels, from and to.

    References
    ----------
    Chen, Kornblith, Norouzi, Hinton: A simple framework for contrastive learning of visual representations,
    ICML 2020, https://arxiv.org/abs/2002.05709, appendix A.
    """

    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    flip: float = 0.5
    jitter: float = 0.5
    hue: float | None = None
    jitter_p: float = 0.8
    grey: float = 0.2
    blur: float = 0.0
    sigma: tuple[float, float] = (0.1, 2.0)

    def __post_init__(self) -> None:
        _check_crop(self)
        check_range(self, "sigma", 0, math.inf, open_low=True)
        check_number(self, "jitter", 0, 2.5, "with more, the hue would go round more than half the circle")
        if self.hue is not None:
            check_number(self, "hue", 0, 0.5, "it is a fraction of the circle, in both directions")
        check_probabilities(self, "flip", "jitter_p", "grey", "blur")

    def __call__(self, x: Tensor, size: Size, generator: torch.Generator) -> Tensor:
        _check_images(x)
        n, (height, width) = len(x), x.shape[2:]
        boxes = geometry.draw_boxes(n, height, width, self.scale, self.ratio, generator)
        run = max(1, PIECE_PIXELS // (size[0] * size[1]))
        orders = torch.rand(-(-n // run), 4, generator=generator).argsort(dim=1)
        u = torch.rand(n, 9, generator=generator)  # one column per other decision
        draws = _PhotoDraws(
            flip=u[:, 0] < self.flip,
            jitter=u[:, 1] < (self.jitter_p if self.jitter else 0),
            factors=self._factors(u[:, 2:6]),
            order=orders.repeat_interleave(run, dim=0)[:n],
            grey=u[:, 6] < (self.grey if x.shape[1] == 3 else 0),
            blur=u[:, 7] < self.blur,
            sigma=self.sigma[0] + (self.sigma[1] - self.sigma[0]) * u[:, 8],
        )
        view = torch.empty((n, x.shape[1], *size), device=x.device)
        length = run if x.device.type == "cpu" else max(1, n)
        for piece in (slice(start, start + length) for start in range(0, n, length)):
            _photo_views(x[piece], boxes[piece], draws.of(piece), blur_kernel(size), view[piece])
        return view

    def _factors(self, u: Tensor) -> Tensor:
        """[N, 4] uniform in [0, 1) -> factors of brightness, contrast and saturation, and the shift of the hue."""
        low, high = max(0.0, 1 - 0.8 * self.jitter), 1 + 0.8 * self.jitter
        factors = low + (high - low) * u
        hue = 0.2 * self.jitter if self.hue is None else self.hue
        factors[:, 3] = hue * (2 * u[:, 3] - 1)
        return factors


class _PhotoDraws(NamedTuple):
    """The random parameters of Photo for a batch, on the CPU."""

    flip: Tensor
    jitter: Tensor
    factors: Tensor
    order: Tensor
    grey: Tensor
    blur: Tensor
    sigma: Tensor

    def of(self, index: slice | Tensor) -> "_PhotoDraws":
        return _PhotoDraws(*(parameter[index] for parameter in self))


def _photo_views(x: Tensor, boxes: Tensor, draws: _PhotoDraws, kernel: int, out: Tensor) -> None:
    """Make the views of one piece of a batch of photos, from x to `out`.

    Samples are sorted: jittered, jittered and grey, grey, neither. So each operation is applied in place to adjacent
    samples; the last step restores the order.
    """
    sort = torch.argsort(torch.where(draws.jitter, draws.grey.int(), 3 - draws.grey.int()), stable=True)
    there, alone = sort.to(x.device), len(x) == 1
    draws = draws.of(sort)
    view = out if alone else scratch("view", tuple(out.shape), x)
    geometry.crop_resize(x if alone else x.index_select(0, there), boxes[sort], draws.flip, out.shape[2:], out=view)
    jittered, grey = int(draws.jitter.sum()), draws.grey.nonzero().squeeze(1)
    if jittered:
        some = slice(0, jittered)
        colour.jitter_(view[some], draws.factors[some], draws.order[some], draws.jitter[some])
    if len(grey):
        some = slice(int(grey[0]), int(grey[-1]) + 1)
        colour.greyscale_(view[some], draws.grey[some])
    blurred = draws.blur.nonzero().squeeze(1)
    if len(blurred):
        at = blurred.to(view.device)
        view[at] = colour.blur_(view[at], draws.sigma[blurred], kernel)
    if not alone:
        out.index_copy_(0, there, view)


@dataclass(frozen=True)
class Digit:
    """For handwriting and other signs, which must not be mirrored: random resized crop and a small rotation.

    Parameters
    ----------
    scale : fraction of the area of the image in a crop, from and to.
    ratio : width / height of a crop, from and to.
    rotation : largest angle in degrees, in both directions.
    """

    scale: tuple[float, float] = (0.4, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    rotation: float = 15.0

    def __post_init__(self) -> None:
        _check_crop(self)
        check_number(self, "rotation", 0, 180, "it is the largest angle in degrees")

    def __call__(self, x: Tensor, size: Size, generator: torch.Generator) -> Tensor:
        _check_images(x)
        boxes = geometry.draw_boxes(len(x), x.shape[2], x.shape[3], self.scale, self.ratio, generator)
        degrees = self.rotation * (2 * torch.rand(len(x), generator=generator) - 1)
        return geometry.affine_crop(x, boxes, degrees, size)


@dataclass(frozen=True)
class Vector:
    """For feature vectors [N, F]: Gaussian noise, then some entries set to 0.

    Features should be standardised (mean 0, standard deviation 1), as the estimators do before training. Then 0 is the
    mean, and the noise is relative to the standard deviation of each feature.

    Parameters
    ----------
    noise : standard deviation of the noise, in standard deviations of a feature.
    mask : probability that an entry is set to 0.
    """

    noise: float = 0.2
    mask: float = 0.2

    def __post_init__(self) -> None:
        check_number(self, "noise", 0, math.inf, "it is a standard deviation")
        check_probabilities(self, "mask")

    def __call__(self, x: Tensor, size: Size | None, generator: torch.Generator) -> Tensor:
        if x.ndim != 2:
            raise InputError(
                f"augmentation 'vector' needs [N, features], got shape {list(x.shape)}: use another policy."
            )
        noise = torch.randn(x.shape, generator=generator).mul_(self.noise)
        keep = torch.rand(x.shape, generator=generator) >= self.mask
        return noise.to(x.device).add_(x).mul_(keep.to(x.device))


@dataclass(frozen=True)
class Identity:
    """No augmentation: the view is the sample as in evaluation."""

    def __call__(self, x: Tensor, size: Size | None, generator: torch.Generator) -> Tensor:
        return prepare(x, size)


POLICIES: dict[str, type[Any]] = {
    "photo": Photo,
    "digit": Digit,
    "handwriting": Handwriting,
    "strong": Strong,
    "vector": Vector,
    "words": Words,
    "table": Rows,
    "none": Identity,
}


DEFAULTS = {
    "handwriting": "handwriting",
    "photograph": "photo",
    "vector": "vector",
    "views": "none",
    "text": "words",
    "table": "table",
}  # by the content of a dataset; stored views need no others


def default(content: str) -> str:
    """The name of the policy for samples of this content (data/content.py), the same for every method."""
    return DEFAULTS[content]


def names() -> list[str]:
    return sorted(POLICIES)


def policy(spec: str | Mapping[str, Any] | Policy) -> Policy:
    """A policy from its name, from a mapping such as {"policy": "photo", "jitter": 1.0}, or a function, unchanged.

    >>> policy({"policy": "digit", "rotation": 10})
    Digit(scale=(0.4, 1.0), ratio=(0.75, 1.3333333333333333), rotation=10)
    """
    if isinstance(spec, str):
        spec = {"policy": spec}
    if not isinstance(spec, Mapping):
        if callable(spec):
            return spec
        raise InputError(f"augmentation {spec!r} is neither a name, a mapping nor a function. {suggest('', POLICIES)}")
    options = dict(spec)
    name = options.pop("policy", None)
    if not isinstance(name, str) or name not in POLICIES:
        raise InputError(f"unknown augmentation policy {name!r}. {suggest(str(name), POLICIES)}")
    known = [field.name for field in fields(POLICIES[name])]
    for option in options:
        if option not in known:
            raise InputError(f"augmentation policy {name!r} has no option {option!r}. {suggest(str(option), known)}")
    return POLICIES[name](**options)


def spec(policy: Policy) -> dict[str, Any]:
    """The entry of a policy in a record, from which `policy` makes it again; only the name of a user's function.

    >>> spec(Vector(noise=0.1))
    {'policy': 'vector', 'noise': 0.1, 'mask': 0.2}
    """
    for name, kind in POLICIES.items():
        if isinstance(policy, kind):
            return {"policy": name, **asdict(policy)}
    return {"policy": getattr(policy, "__qualname__", type(policy).__qualname__)}


def prepare(x: Tensor, size: Size | None) -> Tensor:
    """Samples for evaluation: images in [0, 1], resized (antialiased) to `size`; vectors unchanged."""
    if x.ndim == 2:
        return x.to(torch.float32)
    _check_images(x)
    if size is None or tuple(size) == tuple(x.shape[2:]):
        return x.to(torch.float32).div_(255) if x.dtype == torch.uint8 else x.to(torch.float32)
    boxes = geometry.full_boxes(len(x), x.shape[2], x.shape[3])
    return geometry.crop_resize(x, boxes, torch.zeros(len(x), dtype=torch.bool), size)


def blur_kernel(size: Size) -> int:
    """Odd kernel size of about a tenth of the shorter side: 23 at 224 pixels, 3 at 32."""
    return 2 * (min(size) // 20) + 1


def _check_images(x: Tensor) -> None:
    if x.ndim != 4:
        raise InputError(
            f"images must be [N, C, H, W], got shape {list(x.shape)}: for vectors use the policy 'vector'."
        )


def _check_crop(policy: Any) -> None:
    check_range(policy, "scale", 0, 1, open_low=True)
    check_range(policy, "ratio", 0, math.inf, open_low=True)
