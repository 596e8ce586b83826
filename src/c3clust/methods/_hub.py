"""A fitted estimator for use elsewhere: one ONNX file, folders in the layout of Hugging Face, and its hub.

`save_pretrained`, `from_pretrained` and `push_to_hub` are the methods of huggingface_hub's ModelHubMixin, which also
does the work. Only an address "hf://OWNER/NAME" and `push_to_hub` use the network; a path never does.
"""

import inspect
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from c3clust.errors import InputError, MissingExtraError, RunError, first_line
from c3clust.estimator.base import method_name
from c3clust.records.changes import current
from c3clust.records.record import RunRecord
from c3clust.report.card import model_card

__all__ = ["Pretrained"]

ADDRESS = "hf://"
PARTS = (
    "model.json", "model.safetensors", "edits.json", "corrections.json", "corrections.safetensors",
    "split.json", "split.safetensors", "change.json",
)  # fmt: skip
FILES = [*PARTS[:5], *(f"changes/*/{part}" for part in PARTS)]  # what is downloaded: no code, no pickles


class Pretrained:
    """What an estimator has for ONNX and Hugging Face."""

    def to_onnx(self, path: str | Path) -> Path:
        """Write one ONNX file from pixels (through the encoder) or features to z, probabilities and labels.

        `c3clust.export.onnx_model.load` and `c3clust predict` read it without torch; docs/DEPLOY.md says how others do.
        """
        check_is_fitted(self)
        from c3clust.export.onnx import to_onnx

        return to_onnx(self, method_name(self), path)

    def save_pretrained(self, save_directory: str | Path, **options: Any) -> str | None:
        """Write the model and its card, README.md, into a folder. `options` are those of ModelHubMixin.

        With push_to_hub=True and repo_id="OWNER/NAME" it is uploaded too.
        """
        return _hub_model(self).save_pretrained(save_directory, **options)

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Upload the model and its card to huggingface.co; `options`, such as private=True, are ModelHubMixin's."""
        return _hub_model(self).push_to_hub(repo_id, **options)

    @classmethod
    def from_pretrained(cls, place: str | Path, *, revision: str | None = None, **given: Any) -> Any:
        """The fitted estimator of a local folder, or of "hf://OWNER/NAME" on huggingface.co.

        `revision` is a branch, tag or commit of the hub; `given` is that of `c3clust.load`. Executes nothing from it.
        """
        from c3clust.methods import load_model

        remote = str(place).startswith(ADDRESS)
        if revision is not None and not remote:
            raise InputError(f"revision={revision!r} is for {ADDRESS}OWNER/NAME, and {place} is a folder: omit it.")
        if not remote and not Path(place).is_dir():
            raise RunError(f"{place} is not a folder: a model of huggingface.co is written {ADDRESS}OWNER/NAME.")
        model = load_model(_download(str(place), revision) if remote else place, **given)
        if not isinstance(model, cls):
            raise RunError(f"{place} is a model of {method_name(model)}, not of {cls.__name__}: use c3clust.load.")
        return model


def _hub_model(model: Any) -> Any:
    """The model as an object of ModelHubMixin; MissingExtraError if huggingface_hub is not installed."""
    check_is_fitted(model)
    require_hub()
    from huggingface_hub import ModelCard, ModelHubMixin

    class Model(ModelHubMixin, library_name="c3clust"):
        def _save_pretrained(self, save_directory: Path) -> None:
            model.save(save_directory)

        def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
            return ModelCard(card(model), ignore_metadata_errors=False)

    return Model()


def card(model: Any) -> str:
    """The card of a fitted estimator, from the record of its run if it has one."""
    from c3clust.methods import title

    folder, name = getattr(model, "_folder_", None), method_name(model)
    path = None if folder is None else current(folder) / "record.json"
    record = RunRecord.read(path) if path is not None and path.exists() else None
    edits = model._edits()
    return model_card(name, title(name), edits.n_all, edits.names, record, references(type(model)))


def references(cls: type) -> str:
    """The section References of the documentation of a method; "" if it has none."""
    text = inspect.cleandoc(cls.__doc__ or "").partition("\nReferences\n----------\n")[2]
    return text.partition("\n\n")[0].strip()


def require_hub() -> None:
    """MissingExtraError unless huggingface_hub is installed."""
    if find_spec("huggingface_hub") is None:
        raise MissingExtraError('Models of Hugging Face need huggingface_hub: pip install "c3clust[hub]".')


def _download(address: str, revision: str | None) -> Path:
    """The folder of a model of huggingface.co in the local cache."""
    require_hub()
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(address.removeprefix(ADDRESS), revision=revision, allow_patterns=FILES))
    except Exception as error:  # of the network, the name or the disk
        raise RunError(f"{address} cannot be downloaded: {first_line(error)}.") from None
