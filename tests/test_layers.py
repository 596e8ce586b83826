"""A file imports only from its left: the test reads the imports of every module."""

import ast
from pathlib import Path

import pytest

import c3clust

PACKAGE = Path(c3clust.__file__).parent
LAYERS = [
    {"errors"},
    {"dist", "files"},
    {"checks", "metrics", "progress", "losses"},
    {"records"},
    {"data", "augment", "networks"},
    {"report", "encoders"},
    {"features"},
    {"review"},
    {"training"},
    {"consensus"},
    {"runs"},
    {"estimator"},
    {"export"},
    {"methods"},
    {"recipes", "testing", "batch"},
    {"bench"},
    {"paper"},
    {"cli"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts not in (("__init__",), ("__main__",)):
            yield pytest.param(path, parts[0], id="/".join(parts))


def imported(path):
    """The top-level parts of c3clust that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "c3clust":
            parts = node.module.split(".")[1:]
            yield from [parts[0]] if parts else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("c3clust."))


@pytest.mark.parametrize(("path", "part"), list(modules()))
def test_imports_come_from_the_left(path, part):
    assert part in RANK, f"{part} has no layer: add it to LAYERS"
    for other in imported(path):
        if other == "__version__":
            continue
        assert other in RANK, f"{other} has no layer"
        assert RANK[other] < RANK[part] or other == part, f"{part} may not import {other}"


def test_the_report_knows_neither_torch_nor_methods():
    for path in (PACKAGE / "report").rglob("*.py"):
        assert "torch" not in path.read_text(encoding="utf-8").split()
        assert "methods" not in set(imported(path))


def tensors_only(call):
    return any(word.arg == "weights_only" and ast.unparse(word.value) == "True" for word in call.keywords)


def test_no_pickle_in_the_package():
    """Loading executes nothing. The one unpickler admits only what CIFAR's files hold, torch.load only tensors.

    torch.save writes the checkpoints that CC's released code reads.
    """
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        calls = {
            ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and not tensors_only(node)
        }
        calls -= {"torch.save"} if path.name == "_released.py" else set()
        assert not {"torch.load", "torch.save", "pickle.load", "pickle.loads", "joblib.load", "eval", "exec"} & calls
        if path.name != "cifar.py":
            assert not {"pickle", "cloudpickle", "dill", "joblib"} & names, path


def test_all_is_what_can_be_imported():
    for name in c3clust.__all__:
        assert hasattr(c3clust, name)
