"""Values of the command line that are converted without pydantic are the same, and wrong ones get Typer's message."""

from pathlib import Path
from typing import Annotated

import typer

from c3clust.cli.words import convert_simply

got = {}
app = typer.Typer()


@app.callback()
def options() -> None:
    pass


@app.command()
def one(
    path: Annotated[Path, typer.Argument()],
    numbers: Annotated[list[int] | None, typer.Argument()] = None,
    text: Annotated[str | None, typer.Option()] = None,
    many: Annotated[list[str] | None, typer.Option()] = None,
    share: Annotated[float, typer.Option(min=0)] = 0.5,
    count: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    got.update(path=path, numbers=numbers, text=text, many=many, share=share, count=count)


def run(simply, *words):
    command = typer.main.get_command(app)
    try:
        (convert_simply(command) if simply else command)(list(words), prog_name="x")
    except SystemExit as stop:
        return stop.code, dict(got)


def test_values_are_the_same():
    for words in (
        ["one", "a/b"],
        ["one", "a", "3", "5", "--text", "7", "--many", "x", "--many", "y"],
        ["one", "a", "--share", "0.25", "--count", "3"],
    ):
        assert run(True, *words) == run(False, *words)
    assert got["count"] == 3


def test_wrong_values_have_the_same_message(capsys):
    for words in (["one", "a", "x"], ["one", "a", "-1"], ["one", "a", "--count", "0"], ["one"]):
        assert run(True, *words)[0] == run(False, *words)[0] == 2
    told = capsys.readouterr().err
    assert "not a valid" in told or "valid integer" in told
