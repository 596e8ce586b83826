"""Runs: one folder per fit, with its config, lock, checkpoints, record and report."""

from c3clust.runs.config import RunConfig
from c3clust.runs.result import Result
from c3clust.runs.run import Run, build_view
from c3clust.runs.trust import trusted

__all__ = ["Result", "Run", "RunConfig", "build_view", "trusted"]
