"""A fitted estimator for use elsewhere: one ONNX file, which needs no torch."""
