"""Files: atomic writing, checked reading, limits, text for terminals and spreadsheets. No torch but in model_io."""
