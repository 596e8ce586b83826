"""The cost of crops from original photographs, beside the squashed copy: python benchmarks/originals.py FOLDER

Processor time per picture, on one thread, of photographs resized to the sizes below and stored as JPEG of quality 90:
the squashed picture of 224 px (once per run, or per access for a stream), and two crops as training takes them.
"""

import io
import sys
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from c3clust import augment
from c3clust.data.io.decode import decode, decode_crops, decoder

SIDE, COUNT = 224, 100
SIZES = ((500, 375), (1500, 1125), (3000, 2250))


def milliseconds(function, jpegs):
    began = time.process_time()
    for i, jpeg in enumerate(jpegs):
        function(i, jpeg)
    return 1000 * (time.process_time() - began) / len(jpegs)


def main(folder):
    files = sorted(Path(folder).rglob("*.[jJ]*[gG]"))[:COUNT]
    draw = augment.draw_crops(augment.policy("photo"))
    print(f"{len(files)} photographs, decoder {decoder()}; milliseconds of processor time per picture")
    print("| size | squashed copy | two crops | two crops, decoded in full |")
    print("|---|---|---|---|")
    for size in SIZES:
        jpegs = []
        for file in files:
            buffer = io.BytesIO()
            Image.open(file).convert("RGB").resize(size, Image.Resampling.LANCZOS).save(buffer, "JPEG", quality=90)
            jpegs.append(buffer.getvalue())

        def boxes(i, height, width):
            return draw(height, width, torch.Generator().manual_seed(i)).numpy()

        def in_full(i, jpeg):
            picture = Image.open(io.BytesIO(jpeg)).convert("RGB")
            for top, left, h, w in boxes(i, picture.height, picture.width).tolist():
                np.asarray(picture.crop((left, top, left + w, top + h)).resize((SIDE, SIDE), Image.Resampling.BILINEAR))

        ways = (
            lambda i, jpeg: decode(jpeg, SIDE),
            lambda i, jpeg: decode_crops(jpeg, lambda h, w: boxes(i, h, w), (SIDE, SIDE)),
            in_full,
        )
        print(f"| {size[0]} × {size[1]} | " + " | ".join(f"{milliseconds(way, jpegs):.1f}" for way in ways) + " |")


if __name__ == "__main__":
    main(sys.argv[1])
