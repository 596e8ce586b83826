"""ScikitLearn: the classes of scikit-learn that an estimator is one of.

scikit-learn has no types. A base class of unknown type would hide a misspelt parameter from type checkers, so that
these see the methods below instead.
"""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

__all__ = ["ScikitLearn"]

if TYPE_CHECKING:

    class ScikitLearn:
        """What type checkers know of the classes."""

        n_features_in_: int

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

        def set_params(self, **params: Any) -> Self: ...

        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray: ...

        def fit_transform(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray: ...

        def get_feature_names_out(self, input_features: Any = None) -> np.ndarray: ...

        def set_output(self, *, transform: Any = None) -> Self: ...

        def __sklearn_tags__(self) -> Any: ...

else:

    class ScikitLearn(ClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
        """A clusterer that transforms."""
