"""Commands that cluster the data of a run again in another way, made from the command of the run."""

import shlex
from collections.abc import Sequence

from c3clust.records.record import RunRecord

__all__ = ["kmeans_command", "refit_command"]

FOLDER = ("-o", "--out")
NUMBER = ("-k", "--clusters")
METHOD = ("--recipe", "--method", "--set", "--encoder", "--checkpoint-minutes")
FLAGS = ("--finetune", "--guard", "--no-guard", "--quiet", "-q", "--json")  # no value follows


def kmeans_command(record: RunRecord, run: str) -> str:
    """The command that fits k-means to the same features. run: the folder of this run, quoted for a shell."""
    words = ["-k", str(record.n_clusters), "--method", "kmeans"]
    if record.encoder and record.data.get("kind", "image") == "image":
        words += ["--encoder", str(record.encoder.get("name"))]
    return refit_command(record, run, "kmeans", words, without=(*NUMBER, *METHOD, *FLAGS))


def refit_command(record: RunRecord, run: str, name: str, words: Sequence[str], without: Sequence[str]) -> str:
    """The command of the run with other `words` for the options in `without`, for a new folder RUN-name."""
    given = _kept(record.command, (*FOLDER, *without)) or ["c3clust", "fit", str(record.data.get("place") or "SOURCE")]
    return f"{shlex.join([*given, *words])} -o {shlex.quote(f'{shlex.split(run)[0]}-{name}')}"


def _kept(command: str, without: Sequence[str]) -> list[str]:
    """The words of a `c3clust fit` without some options; none if it is another command, or a recipe is among them."""
    try:
        given = iter(shlex.split(command))
    except ValueError:
        return []
    words = []
    for word in given:
        option = word.partition("=")[0]
        if option not in without:
            words.append(word)
        elif option == "--recipe":  # it names the data
            return []
        elif word == option and word not in FLAGS:
            next(given, None)
    return words if words[:2] == ["c3clust", "fit"] else []
