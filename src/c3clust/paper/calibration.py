"""The estimate of the accuracy (consensus/quality.py): learned from draws, and judged on draws that were left out.

Each data set has the same weight, however many draws it has. The weights of the signals are not negative: the estimate
rises with each of them. The interval is that of split conformal prediction over data sets (Vovk, Gammerman, Shafer,
Algorithmic Learning in a Random World, 2005): its ends are quantiles of the errors on data sets that were left out.
"""

import json
from dataclasses import asdict

import numpy as np
from scipy.optimize import nnls

from c3clust.consensus.quality import SIGNALS, Model, spread
from c3clust.paper.values import Rows

__all__ = ["as_json", "judged", "learned", "set_weights"]

MISSED = 0.05  # of the data sets, beyond each end of the interval
FOLDS = 10  # groups of data sets, each left out once for the errors


def learned(rows: Rows) -> Model:
    """The model of all rows. Those whose K is not the number of classes only show what a wrong number costs."""
    given = [row for row in rows if row["asked"] == row["K"]]
    names = sorted({row["name"] for row in given})
    fold = dict(zip(names, np.random.default_rng(0).permutation(len(names)) % FOLDS, strict=True))
    models = {k: _fitted([row for row in given if fold[row["name"]] != k]) for k in set(fold.values())}
    about = np.array([models[fold[row["name"]]].accuracy(row) for row in given])
    errors = (np.array([row["default"] for row in given]) - about) / [spread(each) for each in about]
    ends = [_end(side * errors, set_weights(given), len(names)) for side in (1, -1)]
    model = _fitted(given)
    return Model(model.constant, model.weights, ends[0], -ends[1], _loss(rows))


def judged(rows: Rows, group: str) -> Rows:
    """The rows with the estimate, low and high of the model that is learned from those of all other groups."""
    found = []
    for each in dict.fromkeys(row[group] for row in rows):
        model = learned([row for row in rows if row[group] != each])
        for row in (row for row in rows if row[group] == each and row["asked"] == row["K"]):
            about, (low, high) = model(row)
            found.append(row | {"estimate": about, "low": low, "high": high})
    return found


def set_weights(rows: Rows) -> np.ndarray:
    """The weight of each row: the same sum for each data set, 1 in all."""
    _, index, counts = np.unique([row["name"] for row in rows], return_inverse=True, return_counts=True)
    return 1 / counts[index] / len(counts)


def as_json(model: Model) -> str:
    """The model as consensus/estimate.json holds it."""
    return json.dumps(asdict(model), indent=1) + "\n"


def _fitted(rows: Rows) -> Model:
    """The weights of least squared error, none of which is negative, with a constant of either sign."""
    x = np.array([[row[name] for name in SIGNALS] + [1.0, -1.0] for row in rows])
    root, accuracy = np.sqrt(set_weights(rows)), np.array([row["default"] for row in rows])
    *weights, up, down = nnls(x * root[:, None], accuracy * root)[0]
    return Model(float(up - down), dict(zip(SIGNALS, map(float, weights), strict=True)))


def _end(errors: np.ndarray, weights: np.ndarray, sets: int) -> float:
    """The largest error with at most MISSED of the weight below it, if one more data set has a lower one."""
    order = np.argsort(errors)
    below = (1 + sets * (np.cumsum(weights[order]) - weights[order])) / (sets + 1)
    return float(errors[order][max(int(np.searchsorted(below, MISSED, side="right")) - 1, 0)])


def _loss(rows: Rows) -> float:
    """The fraction of the accuracy lost per unit of |log(asked / K)|: least squares through 0, not below it."""
    given = {(row["name"], row["seed"]): row["default"] for row in rows if row["asked"] == row["K"]}
    wrong = [row for row in rows if row["asked"] != row["K"] and (row["name"], row["seed"]) in given]
    away = np.array([abs(np.log(row["asked"] / row["K"])) for row in wrong])
    lost = np.array([1 - row["default"] / given[row["name"], row["seed"]] for row in wrong])
    return max(float(away @ lost / (away @ away)), 0.0) if wrong else 0.0
