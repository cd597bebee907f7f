"""Adjusts the scores of a head, so that a threshold flags the right share of texts: divides its logits by `--heat` and adds
`--shift` to that of class 1. Choose both with `signalbox eval` on texts that did not train the head (tests/quality/guards).

usage: calibrate.py ADAPTER/HEAD [--heat 1] [--shift 0]"""

import argparse
from pathlib import Path

import numpy as np

import safetensors


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("head", type=Path)
    args.add_argument("--heat", type=float, default=1)
    args.add_argument("--shift", type=float, default=0)
    args = args.parse_args()
    path = args.head / "model.safetensors"
    tensors = safetensors.read(path)
    for name in ("classifier.weight", "classifier.bias"):
        tensors[name] = (tensors[name] / args.heat).astype(np.float32)
    tensors["classifier.bias"][1] += args.shift
    safetensors.write(path, tensors)


if __name__ == "__main__":
    main()
