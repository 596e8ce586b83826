"""What the package contains, read from its files without importing them: names, first lines and literal values.

Importing a method or an encoder takes seconds. The folders are the lists; `methods.names`, `paper.names`,
`encoders.examples`, `c3clust list` and the completion of the command line all read them here.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["datasets", "encoders", "experiments", "methods", "recipes", "title"]

HERE = Path(__file__).parent.parent


def methods() -> dict[str, Path]:
    """The file of each method, by name.

    >>> {"c3", "cc", "kmeans"} <= set(methods())
    True
    """
    return dict(_modules(HERE / "methods"))


def experiments() -> dict[str, Path]:
    """The file of each experiment of the paper, in order: the modules with an `ORDER`."""
    found = [(_literal(path, "ORDER"), name.replace("_", "-"), path) for name, path in _modules(HERE / "paper")]
    return {name: path for order, name, path in sorted(f for f in found if f[0] is not None)}


def encoders() -> dict[str, str]:
    """What each encoder is, by spec: the `EXAMPLES` of all types."""
    found = (_literal(path, "EXAMPLES") or {} for _, path in _modules(HERE / "encoders"))
    return {spec: what for examples in found for spec, what in examples.items()}


def datasets() -> list[str]:
    """The names of the public datasets: the `name=` of each entry in the `DATASETS` of a source."""
    values = (_value(path, "DATASETS") for _, path in _modules(HERE / "data" / "sources"))
    nodes = [node for value in values if value is not None for node in ast.walk(value)]
    return sorted(
        str(node.value.value)
        for node in nodes
        if isinstance(node, ast.keyword) and node.arg == "name" and isinstance(node.value, ast.Constant)
    )


def recipes() -> dict[str, Path]:
    """The file of each recipe, by name."""
    return {path.stem: path for path in sorted((HERE / "recipes").glob("*.toml"))}


def title(path: Path) -> str:
    """The first line of a file: of the documentation of a module, which takes longer to parse, or a comment."""
    return _text(path).partition("\n")[0].strip().removeprefix('"""').removesuffix('"""').removeprefix("# ")


def _modules(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of the public modules and packages in a folder."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py" and not path.name.startswith("_"):
            yield path.stem, path
        elif (path / "__init__.py").is_file():
            yield path.name, path / "__init__.py"


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _value(path: Path, name: str) -> ast.expr | None:
    """The expression that a module assigns to a name, if it does."""
    if f"\n{name} = " not in _text(path):
        return None
    for node in ast.parse(_text(path)).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node.value
    return None


def _literal(path: Path, name: str) -> Any:
    value = _value(path, name)
    return None if value is None else ast.literal_eval(value)
