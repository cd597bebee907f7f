#!/usr/bin/env python3
# Compares `signalbox fit` with the same fit by PyTorch's L-BFGS: multinomial logistic regression on the embeddings of the
# same trunk, with the penalty selected on a tenth of the texts. Both are evaluated on texts that neither was trained on.
# Needs python3-torch.
#
# usage: bench/fit_peer.py PROGRAM LABELLED.jsonl [--dtype int8]      (lines {"text", "label"})
import argparse
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F


def main():
    args = argparse.ArgumentParser(description="usage: see the head of the file")
    args.add_argument("program")
    args.add_argument("data", type=Path)
    args.add_argument("--dtype", default="int8")
    args.add_argument("--trunk", default="minilm")
    args = args.parse_args()
    rows = [json.loads(line) for line in args.data.open(encoding="utf-8")]
    random.Random(1).shuffle(rows)
    held, train = rows[: len(rows) // 10], rows[len(rows) // 10 :]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, part in (("train", train), ("held", held)):
            with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(json.dumps({"text": r["text"], "label": r["label"]}) + "\n" for r in part)
        begin = time.time()
        run(args.program, "fit", "--task", "classify", "--trunk", args.trunk, "--dtype", args.dtype, "--data",
            folder / "train.jsonl", "--out", folder / "head")
        seconds = time.time() - begin
        said = [json.loads(line)["label"] for line in
                run(args.program, "classify", "--model", args.trunk, "--dtype", args.dtype, "--head", folder / "head",
                    stdin=folder / "held.jsonl").splitlines()]
        ours = sum(a == r["label"] for a, r in zip(said, held, strict=True)) / len(held)
        vectors = {name: torch.tensor([json.loads(line)["embedding"] for line in
                                       run(args.program, "embed", "--model", args.trunk, "--dtype", args.dtype,
                                           stdin=folder / f"{name}.jsonl").splitlines()])
                   for name in ("train", "held")}
    labels = sorted({r["label"] for r in rows})
    truth = {"train": indices(train, labels), "held": indices(held, labels)}
    cut = len(train) * 8 // 9  # eight tenths of all texts, as in `fit` within its file
    best = max((accuracy(fitted(vectors["train"][:cut], truth["train"][:cut], l2, len(labels)), vectors["train"][cut:],
                         truth["train"][cut:]), l2) for l2 in (1e-6, 1e-5, 1e-4, 1e-3))
    theirs = accuracy(fitted(vectors["train"][:cut], truth["train"][:cut], best[1], len(labels)), vectors["held"],
                      truth["held"])
    print(f"{len(train)} rows fitted in {seconds:.1f} s, {len(held)} held out: "
          f"signalbox {ours:.4f}, torch L-BFGS {theirs:.4f} (penalty {best[1]})")


def run(*command, stdin=None):
    with open(stdin or "/dev/null", encoding="utf-8") as file:
        return subprocess.run([str(c) for c in command], stdin=file, check=True, capture_output=True, text=True).stdout


def indices(rows, labels):
    return torch.tensor([labels.index(row["label"]) for row in rows])


def fitted(vectors, truth, l2, labels):
    """Minimises cross entropy + l2 |weights|^2 to convergence. Returns weights (labels, hidden) and bias (labels)."""
    weights = torch.zeros(labels, vectors.shape[1], requires_grad=True)
    bias = torch.zeros(labels, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights, bias], max_iter=500, history_size=20, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = F.cross_entropy(vectors @ weights.T + bias, truth) + l2 * weights.square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    return weights.detach(), bias.detach()


def accuracy(layer, vectors, truth):
    return ((vectors @ layer[0].T + layer[1]).argmax(1) == truth).float().mean().item()


if __name__ == "__main__":
    main()
