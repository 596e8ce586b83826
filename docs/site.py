"""Pages of the site that are not files of docs/: one for each method, and the documents of the repository's root.

mkdocs.yml names this module as a hook. A new method is listed without being named anywhere.
"""

import ast
from pathlib import Path

from mkdocs.structure.files import File

from c3clust.files import catalog

ROOT = Path(__file__).parent.parent
DOCUMENTS = {"Architecture": "ARCHITECTURE.md", "Contributing": "CONTRIBUTING.md", "Changes": "CHANGELOG.md"}
MEASURED = ("benchmarks/README.md", "BENCHMARKS.md")


def on_config(config):
    """Add the generated pages to the navigation."""
    methods = [{name: f"methods/{name}.md"} for name in catalog.methods()]
    at = next(i for i, entry in enumerate(config.nav) if "Method" in entry)
    config.nav.insert(at + 1, {"Methods": ["methods/index.md", *methods]})
    config.nav.append({"Project": [*({title: path} for title, path in DOCUMENTS.items()), {"Benchmarks": MEASURED[1]}]})
    return config


def on_files(files, config):
    """Add the generated pages."""
    pages = {path: (ROOT / path).read_text(encoding="utf-8") for path in DOCUMENTS.values()}
    pages[MEASURED[1]] = (ROOT / MEASURED[0]).read_text(encoding="utf-8")
    found = {name: _docstring(path) for name, path in catalog.methods().items()}
    pages["methods/index.md"] = _overview(found)
    pages |= {f"methods/{name}.md": _method(name, found[name]) for name in found}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links out of docs/ lead to the pages above."""
    return markdown.replace("](../benchmarks/README.md)", f"]({MEASURED[1]})").replace("](docs/", "](")


def _docstring(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").strip()


def _overview(found: dict[str, str]) -> str:
    rows = [f"| [`{name}`]({name}.md) | {text.splitlines()[0]} |" for name, text in found.items()]
    how = (
        "`c3clust fit PLACE --method NAME`, or its class. A method is one file: [CONTRIBUTING.md](../CONTRIBUTING.md)."
    )
    return "\n".join(["# Methods", "", how, "", "| method | what it is |", "|---|---|", *rows, ""])


def _method(name: str, text: str) -> str:
    """What the file says, then the class, and the losses with their equations."""
    first, _, rest = text.partition("\n")
    parts = [f"# {name}", first]
    if rest.strip():
        parts.append(f"```text\n{rest.strip()}\n```")
    parts += [f"::: c3clust.methods.{name}.{each}\n    options: {{members: []}}" for each in _public(name)]
    return "\n\n".join(parts) + "\n"


def _public(name: str) -> list[str]:
    """The class of a method, then the functions and classes that its file defines; of a folder, what it exports."""
    path = catalog.methods()[name]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    exported = next(ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and _is_all(n))
    defined = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return [*exported, *(each for each in defined if each not in exported and not each.startswith("_"))]


def _is_all(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
