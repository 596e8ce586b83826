"""Runs: one folder per fit, with its config, lock, checkpoints, record and report."""

from c3clust.runs.config import RunConfig
from c3clust.runs.run import Run, originals, write_report

__all__ = ["Run", "RunConfig", "originals", "write_report"]
