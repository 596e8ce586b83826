"""Checkpoints of CC's released code (https://github.com/Yunfan-Li/Contrastive-Clustering) <-> a fitted CC.

Such a file (checkpoint_1000.tar) is what torch.save wrote: {"net", "optimizer", "epoch"}, in torch's zip format or the
one before it. Only tensors are read from it, and each must be expected: the architecture is the same, the names
differ.

    resnet.conv1, resnet.bn1                    f.stem.0, f.stem.1
    resnet.layerL.B.convK, .bnK                 f.groups.b.residual.3(K - 1), .3(K - 1) + 1, b counted over all layers
    resnet.layerL.B.downsample.J                f.groups.b.shortcut.J
    instance_projector, cluster_projector       g_i, g_c
"""

import io
import warnings
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from c3clust import augment
from c3clust.errors import InputError, RunError, first_line
from c3clust.features.preprocess import Preprocessor
from c3clust.files import model_io
from c3clust.files.atomic import open_regular, open_zip, write_atomically
from c3clust.files.limits import limit
from c3clust.networks import ClusterNet
from c3clust.networks.resnet import RESNETS, ResNet
from c3clust.training.context import find_device, placed

__all__ = ["IMAGE_SIZE", "read_checkpoint", "write_checkpoint"]

IMAGE_SIZE = 224  # px, of the released code
OBJECTS = ("GLOBAL", "unrecognized")  # in what torch says about classes and functions in a file
HEADS = {"g_i": "instance_projector", "g_c": "cluster_projector"}
PUBLISHED: dict[str, Any] = {  # of the released code
    "augment": {"policy": "photo", "jitter": 0.5, "blur": 0.0}, "stem": "imagenet", "batch_size": 256, "lr": 3e-4,
    "schedule": "constant",
}  # fmt: skip


def read_checkpoint(cls: type, path: str | Path, image_size: int | None = None) -> Any:
    """The network of a released checkpoint as a fitted estimator of class `cls`, CC."""
    path, content = Path(path), _read(Path(path))
    net = {str(name).removeprefix("module."): t for name, t in content["net"].items()}
    for name, t in net.items():
        if not isinstance(t, Tensor) or t.layout != torch.strided or t.device.type != "cpu" or _is_larger(t):
            raise _misfit(path, f"{name} is not a plain tensor")
    width, n_clusters = (_rows(path, net, f"{projector}.2.weight") for projector in HEADS.values())
    if n_clusters > limit("C3CLUST_MAX_CLUSTERS"):
        raise _misfit(path, f"{n_clusters:,} clusters are too many")
    which = _architecture(path, net)
    size = image_size or IMAGE_SIZE
    epoch = content.get("epoch")
    epochs = epoch if isinstance(epoch, int) and 0 <= epoch < 2**31 else 0
    params = PUBLISHED | {"backbone": which, "image_size": size, "projection_dim": width, "epochs": epochs}
    estimator = cls(n_clusters, encoder="none", **params)
    estimator.preprocessor_ = Preprocessor(shape=(3, size, size), pixel_max="type")
    with torch.device("meta"):
        network = estimator._build_network((3, size, size))
    network.load_state_dict(_renamed(path, net, network, RESNETS[which][0]), strict=True, assign=True)
    estimator.network_ = placed(network, (3, size, size), find_device(estimator.device)).eval()
    estimator.policy_, estimator.outlier_rule_ = augment.spec(augment.policy(PUBLISHED["augment"])), None
    return estimator


def write_checkpoint(network: Any, path: str | Path, epoch: int) -> None:
    """Write a network as the released code reads it, with a new optimiser, since a saved model has none."""
    path = Path(path)
    reason = _obstacle(network)
    if reason:
        raise InputError(
            f"This network cannot be written for CC's released code: {reason}. That code has a ResNet-18, -34 or -50 "
            'with the stem "imagenet" for colour pictures, and labels from the cluster head.'
        )
    if path.exists():
        raise InputError(f"{path} exists already: nothing is overwritten. Give another file with --to.")
    blocks = RESNETS[_which(network.f)][0]
    net = {_released_name(name, blocks): t.detach().cpu().contiguous() for name, t in network.state_dict().items()}
    optimizer = torch.optim.Adam(network.parameters(), lr=PUBLISHED["lr"]).state_dict()
    content = io.BytesIO()
    torch.save({"net": net, "optimizer": optimizer, "epoch": epoch}, content)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.getvalue())


def _read(path: Path) -> dict[str, Any]:
    """The entries of the file. Only tensors and plain values are read: no code is run."""
    with _open(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the format of files that are refused anyway
        try:
            content = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # of many kinds; torch advises to run the code of such files
            if any(word in str(error) for word in OBJECTS):
                raise RunError(
                    f"{path} is not a checkpoint of CC's released code: it holds something other than tensors and "
                    "plain values, which might run code. It was not read."
                ) from None
            raise RunError(
                f"{path} is no checkpoint that torch.save wrote, or it was cut off: download it again."
            ) from None
    if not isinstance(content, dict) or not isinstance(content.get("net"), dict):
        raise _misfit(path, "it has no entry 'net' with the weights")
    return content


def _open(path: Path) -> BinaryIO:
    try:
        with open_regular(path) as file:
            is_zip = zipfile.is_zipfile(file)
        return open_zip(path) if is_zip else open_regular(path)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or first_line(error)}.") from None
    except (ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise RunError(f"{path} is not a checkpoint of CC's released code: {first_line(error)}.") from None


def _architecture(path: Path, net: dict[str, Tensor]) -> str:
    """The ResNet that has these tensors."""
    found = {which: set(_shapes(which)) for which in RESNETS}
    names = {name for name in net if name.startswith("resnet.")}
    which = min(found, key=lambda which: len(found[which] ^ names))
    for name in sorted(found[which] ^ names):
        raise _misfit(path, f"{name} is {'missing' if name in found[which] else 'unknown'} in a {which}")
    return which


def _shapes(which: str) -> dict[str, torch.Size]:
    """The released names of the tensors of f, and their shapes."""
    with torch.device("meta"):
        network = ResNet(which, 3, "imagenet")
    return {_released_name(f"f.{name}", RESNETS[which][0]): t.shape for name, t in network.state_dict().items()}


def _renamed(path: Path, net: dict[str, Tensor], network: ClusterNet, blocks: tuple[int, ...]) -> dict[str, Tensor]:
    """The tensors under our names; each must have the shape that it has in `network`, and none may be left over."""
    found = {}
    for name, wanted in network.state_dict().items():
        t = net.pop(_released_name(name, blocks), None)
        if t is None:
            raise _misfit(path, f"{_released_name(name, blocks)} is missing")
        if t.shape != wanted.shape or t.is_floating_point() != wanted.is_floating_point():
            shapes = f"{tuple(t.shape)}, not {tuple(wanted.shape)}"
            raise _misfit(path, f"{_released_name(name, blocks)} has the shape {shapes}")
        found[name] = t.detach().to(wanted.dtype)
    if net:
        raise _misfit(path, f"{min(net)} is unknown")
    if broken := model_io.not_finite(found):
        raise _misfit(path, f"{_released_name(broken, blocks)} contains NaN or infinity")
    return found


def _released_name(name: str, blocks: tuple[int, ...]) -> str:
    """The released name of a tensor of ours.

    >>> _released_name("f.groups.7.shortcut.1.bias", (3, 4, 6, 3))
    'resnet.layer3.0.downsample.1.bias'
    >>> _released_name("f.groups.6.residual.4.weight", (3, 4, 6, 3))
    'resnet.layer2.3.bn2.weight'
    """
    head, rest = name.split(".", 1)
    if head in HEADS:
        return f"{HEADS[head]}.{rest}"
    part, number, rest = rest.split(".", 2)
    if part == "stem":
        return f"resnet.{('conv1', 'bn1')[int(number)]}.{rest}"
    layer, block = 0, int(number)
    while block >= blocks[layer]:
        layer, block = layer + 1, block - blocks[layer]
    where, number, rest = rest.split(".", 2)
    conv, norm = divmod(int(number), 3)
    inner = f"downsample.{number}" if where == "shortcut" else f"{'bn' if norm else 'conv'}{conv + 1}"
    return f"resnet.layer{layer + 1}.{block}.{inner}.{rest}"


def _which(f: ResNet) -> str:
    """The name of a ResNet."""
    names = {name: t.shape for name, t in f.state_dict().items()}
    return next(
        which
        for which, (blocks, _) in RESNETS.items()
        if sum(blocks) == len(f.groups)
        and {_released_name(f"f.{name}", blocks) for name in names} == set(_shapes(which))
    )


def _obstacle(network: Any) -> str:
    """Why the released code has no such network, if it has none."""
    if not isinstance(network, ClusterNet) or not isinstance(network.f, ResNet):
        return "it is not a ResNet with the heads of CC"
    if network.state_dict()["f.stem.0.weight"].shape[1:] != (3, 7, 7):
        return "it has another stem"
    if network.temperature is not None:
        return "its labels are not those of the cluster head alone"
    return ""


def _rows(path: Path, net: dict[str, Tensor], name: str) -> int:
    if name not in net or net[name].ndim != 2 or not net[name].numel():
        raise _misfit(path, f"{name} is missing or not a matrix")
    return len(net[name])


def _is_larger(t: Tensor) -> bool:
    """Whether a tensor has more values than the file holds for it."""
    return t.numel() * t.element_size() > t.untyped_storage().nbytes()


def _misfit(path: Path, reason: str) -> RunError:
    return RunError(
        f"{path} does not fit the networks of CC's released code: {reason}. A checkpoint of a ResNet-18, -34 or -50 "
        "with both projectors is needed."
    )
