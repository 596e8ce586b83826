"""One file per source. The interface is in data/source.py."""
