"""The parameters that methods share, as dataclasses: a method inherits those that it has, with their documentation.

The docstring of each class below documents its parameters, without defaults, and attributes. `Clusterer` adds the
entries that a method inherits to the method's own docstring, with the method's own default values; and an example.
"""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
from torch import nn

from c3clust import checks
from c3clust.errors import InputError
from c3clust.estimator.base import Estimator, TrainingOptions
from c3clust.features.preprocess import SCALES, InputOptions
from c3clust.methods._documentation import Documented, with_inherited_entries
from c3clust.methods._hub import Pretrained
from c3clust.networks import ClusterNet, backbone
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Stage, TrainingContext, auto_epochs

__all__ = [
    "AutoencoderFields",
    "Clusterer",
    "ContrastiveFields",
    "EncoderFields",
    "NetworkFields",
    "TrainingFields",
    "parameters",
]

T = TypeVar("T")


@dataclass_transform(eq_default=False, kw_only_default=True)
def parameters(cls: type[T]) -> type[T]:
    """The decorator of a class of parameters. Comparison and repr stay those of scikit-learn's BaseEstimator."""
    return dataclass(eq=False, repr=False, kw_only=True)(cls)


@dataclass(eq=False, repr=False)
class Clusterer(Documented, Pretrained, Estimator):
    """The parameters of every method.

    Parameters
    ----------
    n_clusters : int or "auto"
        M, the number of clusters; "auto" estimates it without labels (where the method can).
    encoder : str, torch.nn.Module or None
        A pretrained encoder, whose features replace the samples: "efficientnet-lite0", "hf:NAME_OR_FOLDER",
        "timm:NAME", the folder of a run, or a module. None and "none" use the samples themselves, "auto" uses
        "efficientnet-lite0" for photographs of 20 px and more if it is installed. Texts and tables always have an
        encoder.
    image_size : int or None
        Side in pixels at which images are trained and predicted; None keeps their own.
    fold_duplicates : bool
        Exclude exact and near copies (of images, texts, embeddings) from training; they get their original's cluster.
    outliers : bool
        Assign the label -1 to samples far from all clusters, and to those on which the members disagree.
    random_state : int, RandomState or None

    Attributes
    ----------
    n_clusters_ : int
    labels_, confidence_ : ndarray [n]
        Cluster of each sample, and the largest entry of its soft assignment.
    duplicates_ : Duplicates
        Which samples are copies, and of which.
    outliers_ : dict
        The samples that belong to no cluster, by position, with the reason; also without `outliers`.
    """

    standardise: ClassVar[float] = np.inf  # the largest number of features that are standardised

    n_clusters: int | str = "auto"
    _: KW_ONLY
    encoder: Any = None
    image_size: int | None = None
    fold_duplicates: bool = True
    outliers: bool = False
    random_state: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = with_inherited_entries(cls)

    def _input_options(self) -> InputOptions:
        return InputOptions(self.encoder, self.image_size, standardise=self.standardise)


class Fields(Documented):
    """A class of parameters that is mixed into a `Clusterer`. It may use these attributes of it."""

    if TYPE_CHECKING:
        encoder: Any
        image_size: int | None
        preprocessor_: Any

        @property
        def n_clusters_(self) -> int: ...


@parameters
class TrainingFields(Fields):
    """The parameters of a method that trains a network.

    Parameters
    ----------
    epochs : int or "auto"
        Passes over the data; "auto" computes them from the number of samples.
    batch_size : int
    lr : float
        Learning rate of Adam.
    schedule : {"cosine", "constant"}
        Learning rate over the stage.
    device : str
        "auto" uses CUDA or MPS if there is one, else the CPU.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    stages_ : list of dict
        Name, epochs, seconds and curves of each training stage.
    epochs_ : dict
        The epochs that each parameter of epochs came to, where "auto" was given too.
    """

    _prefix = ""  # of the parameters, where this is the first stage of another method

    epochs: int | str = "auto"
    batch_size: int = 256
    lr: float = 1e-3
    schedule: str = "cosine"
    device: str = "auto"
    verbose: bool = False

    def _training_options(self) -> TrainingOptions:
        return TrainingOptions(device=self.device, verbose=self.verbose)

    def _check_stage(self) -> None:
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule)

    def _epochs(
        self,
        context: TrainingContext,
        steps: int,
        low: int,
        high: int,
        parameter: str = "epochs",
        batch_size: int | None = None,
    ) -> int:
        """The epochs of a stage by its parameter; "auto" is about `steps` steps, within [low, high]."""
        epochs = getattr(self, parameter)
        if epochs == "auto":
            epochs = auto_epochs(len(context.x), batch_size or self.batch_size, steps, low, high)
        context.epochs[self._prefix + parameter] = epochs
        return epochs

    def _stage(self, name: str, epochs: int) -> Stage:
        return Stage(name, epochs, self.batch_size, self.lr, self.schedule)


@parameters
class AutoencoderFields(Fields):
    """The parameters of an autoencoder whose codes are clustered by k-means.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the encoder's hidden layers; the decoder has them in reverse.
    code_dim : int
        D, the width of z.
    n_init : int
        Number of k-means starts, of which the best is kept.

    Attributes
    ----------
    network_ : Centred
        The autoencoder (`body`) and the centres of its codes (`readout`).
    """

    autoencoder: ClassVar[type[Autoencoder]] = Autoencoder
    example: ClassVar[str] = """    >>> from sklearn.datasets import load_digits
    >>> from c3clust import methods
    >>> method = methods.load("NAME")(n_clusters=10, hidden=(50,), epochs=1, random_state=0)
    >>> method.fit(load_digits().images / 16).predict_proba(load_digits().images[:2] / 16).shape
    (2, 10)"""
    two_stages: ClassVar[str] = example.replace("epochs=1", "pretrain_epochs=1, epochs=1")

    hidden: Any = (500, 500, 2000)
    code_dim: int = 10
    n_init: int = 20

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        body = self.autoencoder(shape, self.hidden, self.code_dim)
        return Centred(body, self.code_dim, self.n_clusters_)

    def _check_autoencoder(self) -> None:
        if not isinstance(self.hidden, list | tuple):
            raise InputError(f"hidden={self.hidden!r} is not a list of widths. A usual value is (500, 500, 2000).")
        for width in self.hidden:
            checks.whole("hidden", width, why="each entry is the width of a layer. A usual value is (500, 500, 2000).")
        checks.whole("code_dim", self.code_dim, why="it is the width of z. A usual value is 10.")
        checks.whole("n_init", self.n_init, why="it is the number of k-means starts. A usual value is 20.")


@parameters
class NetworkFields(TrainingFields):
    """The parameters of a method that trains an encoder network on pairs of views.

    Parameters
    ----------
    backbone : str or torch.nn.Module
        The encoder f: "convnet" (up to 32 px), "resnet18", "resnet34", "resnet50", "mlp" (vectors), or a module.
    stem : {"auto", "imagenet", "small"}
        First layers of a ResNet; "auto" uses the 3x3 stem up to 48 px.
    augment : str, dict or callable
        How views are made: "auto" (by the content of the data), "photo", "handwriting", "digit", "vector", "none", or
        {"policy": "photo", "jitter": 1.0, ...}.
    projection_dim : int
        D, the width of z.
    """

    example: ClassVar[str] = """    >>> from sklearn.datasets import load_digits
    >>> from c3clust import methods
    >>> x = load_digits().images[:100] / 16
    >>> methods.load("NAME")(n_clusters=10, epochs=1, random_state=0).fit(x).predict_proba(x[:2]).shape
    (2, 10)"""

    backbone: str | nn.Module = "auto"
    stem: str = "auto"
    augment: Any = "auto"
    projection_dim: int = 128

    def _training_options(self) -> TrainingOptions:
        return TrainingOptions(self.augment, self.device, verbose=self.verbose)

    def _input_options(self) -> InputOptions:
        return InputOptions(self.encoder, self.image_size, views=VIEWS)


VIEWS = 4  # of each sample, stored as features, for methods without a parameter `views`


@parameters
class ContrastiveFields(NetworkFields):
    """The parameters of a method that contrasts the views of a network on samples or feature vectors.

    Parameters
    ----------
    scale : {"auto", "standard", "l2", "none"}
        How feature vectors are scaled: each feature to mean 0 and standard deviation 1 ("standard"), each vector to
        unit length ("l2"), or not at all ("none"). In any case vectors are centred in float64, and with "none" divided
        by one power of two, which does not change the ratios of distances.
    tau_i : float
        Temperature of the instance loss.
    compile : bool
        Compile the encoder with torch.compile, which takes about half a minute at the start.
    """

    scale: str = "auto"
    tau_i: float = 0.5
    compile: bool = False

    def _input_options(self) -> InputOptions:
        return InputOptions(self._encoder_spec(), self.image_size, self.scale)

    def _encoder_spec(self) -> Any:
        """The parameter `encoder`; "auto" is none where a backbone is chosen."""
        return None if self.encoder == "auto" and self.backbone != "auto" else self.encoder

    def _training_options(self) -> TrainingOptions:
        return TrainingOptions(self.augment, self.device, self.compile, self.verbose)

    def _check_network(self) -> None:
        checks.number("tau_i", self.tau_i, 1e-3, why="it divides cosines. A usual value is 0.5.")
        checks.whole("projection_dim", self.projection_dim, why="it is the width of z. A usual value is 128.")
        checks.choice("scale", self.scale, SCALES)


@parameters
class EncoderFields(ContrastiveFields):
    """The parameters of CC, of what builds on it, and of the views of an encoder's features.

    Parameters
    ----------
    views : int
        Number of random views of a sample whose features an encoder computes; pairs are drawn from them. With 0, pairs
        are made from the features by adding noise and dropping some of them.
    finetune : bool
        Train the encoder too, as f, at a tenth of the learning rate, instead of using its features unchanged.
    tau_c : float
        Temperature of the cluster loss.
    """

    views: int = 4
    finetune: bool = False
    tau_c: float = 1.0

    def _input_options(self) -> InputOptions:
        return InputOptions(self._encoder_spec(), self.image_size, self.scale, views=self.views, finetune=self.finetune)

    def _build_network(self, shape: tuple[int, ...]) -> ClusterNet:
        encoder: Any = self.preprocessor_.encoder
        chosen = encoder.network if self.finetune and encoder is not None else self.backbone
        f, width = backbone(chosen, shape, self.stem)
        return ClusterNet(f, width, self.projection_dim, self.n_clusters_)

    def _check_network(self) -> None:
        super()._check_network()
        checks.number("tau_c", self.tau_c, 1e-3, why="it divides cosines. A usual value is 1.0.")
        checks.whole("views", self.views, 0, why="it is the number of views of a sample. A usual value is 4.")
        checks.flag("finetune", self.finetune)
