"""Runs: one folder per fit, with its config, lock, checkpoints, record and report."""

from c3clust.runs.config import RunConfig
from c3clust.runs.run import Run, write_report

__all__ = ["Run", "RunConfig", "write_report"]
