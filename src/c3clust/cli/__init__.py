"""The command line: parse, call, print."""

from c3clust.cli.app import main

__all__ = ["main"]
