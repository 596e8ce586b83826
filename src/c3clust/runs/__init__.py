"""Runs: one folder per fit, with its config, lock, checkpoints, record and report."""

from c3clust.runs.config import RunConfig
from c3clust.runs.run import Run, build_view, write_report
from c3clust.runs.trust import trusted

__all__ = ["Run", "RunConfig", "build_view", "trusted", "write_report"]
