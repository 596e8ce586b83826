"""A fitted model as one ONNX file, from pixels or features to z, probabilities and labels (docs/DEPLOY.md).

`export/onnx_model.py` reads such a file, without torch.
"""

from c3clust.export.onnx.write import to_onnx

__all__ = ["to_onnx"]
