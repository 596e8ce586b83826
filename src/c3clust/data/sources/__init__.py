"""One file per source. A source is a module with `claims` and `read`, and perhaps `SETS` (data/source.py)."""
