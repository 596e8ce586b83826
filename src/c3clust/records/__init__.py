"""The plain files of a run folder: record.json, assignments.csv, labels.csv, edits.json.

Imports neither torch nor methods.
"""
