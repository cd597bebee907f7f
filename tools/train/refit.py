"""Fits the heads that judge by parts again on a finished adapter, such as an average, whose own stays as it is.

usage: refit.py --data DATA --trunk models/minilm --adapter OUT [--mined FILE] [--texts 30000]"""

import argparse
import random
from pathlib import Path

import numpy as np
import torch
import torch.multiprocessing
import torch.nn.functional as F

import corpus
import export
import safetensors
import tokens
import train
import trunk

LIMIT, BATCH, EPOCHS, RATE = 256, 512, 12, 1e-3


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", type=Path, required=True, help="directory of the public sets")
    args.add_argument("--trunk", type=Path, required=True, help="model directory of all-MiniLM-L6-v2")
    args.add_argument("--adapter", type=Path, required=True, help="directory of the adapter; its heads are replaced")
    args.add_argument("--mined", type=Path, help="what mine.py wrote, all of which is learnt from")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--texts", type=int, default=30_000, help="how many to learn from")
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    corpus.mined = args.mined
    for task in corpus.PART_TASKS:
        examples = [e for e in corpus.TASKS[task](args.data) if e["task"] == task]
        learnt = [e for e in examples if not e["held_out"]]
        held = [e for e in examples if e["held_out"]]
        rng = random.Random(args.seed)
        mined = [e for e in learnt if e["origin"] == "mined"]
        others = [e for e in learnt if e["origin"] != "mined"]
        chosen = mined + rng.sample(others, min(args.texts, len(others))) + rng.sample(held, min(1500, len(held)))
        tokens.encode(args.program, args.trunk / "tokenizer.json", chosen)
        halves = [chosen[0::2], chosen[1::2]]
        with torch.multiprocessing.get_context("spawn").Pool(2) as pool:
            found = pool.starmap(means, [(half, args.trunk, args.adapter) for half in halves])
        rows = [(part, e["label"], e["held_out"]) for half, of in zip(halves, found) for part, e in zip(of, half)]
        fit(args.adapter / task, [row[:2] for row in rows if not row[2]], [row[:2] for row in rows if row[2]], args.seed)


def means(examples, trunk_directory, adapter):
    """The parts' means of each text, [(parts, hidden)]."""
    torch.set_num_threads(1)
    state = export.read(adapter)["adapter"]
    rank = state["layers.0.query.a"].shape[0]
    model = trunk.Trunk(trunk_directory / "model.safetensors", rank, rank)
    model.load_state_dict(state, strict=False)
    model.eval()
    crop = random.Random(0)
    batches = sorted(range(len(examples)), key=lambda i: len(examples[i]["ids"]))
    out = [None] * len(examples)
    with torch.no_grad():
        for at in range(0, len(batches), 16):
            index = batches[at : at + 16]
            batch = [(*tokens.crop(examples[i], LIMIT, crop), examples[i]["label"]) for i in index]
            ids, segments, mask, _ = train.padded(batch)
            of, there = trunk.parts(model(ids, segments, mask), mask)
            for i, row, count in zip(index, of, there.sum(1).tolist()):
                out[i] = row[:count].numpy()
    return out


def fit(directory, learnt, held, seed):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    head = trunk.StrongestPart(2)
    head.load_state_dict({name: torch.from_numpy(value) for name, value in
                          safetensors.read(directory / "model.safetensors").items()})
    optimiser = torch.optim.AdamW(head.parameters(), RATE, weight_decay=1e-2)
    steps, step = EPOCHS * (len(learnt) // BATCH), 0
    for epoch in range(EPOCHS):
        order, losses = rng.permutation(len(learnt)), 0.0
        for at in range(0, len(order) - BATCH + 1, BATCH):
            rows = [learnt[i] for i in order[at : at + BATCH]]
            loss = F.cross_entropy(of_parts(head, rows, 0.1), torch.tensor([label for _, label in rows]))
            loss.backward()
            for group in optimiser.param_groups:
                group["lr"] = RATE * (1 - step / steps)
            optimiser.step()
            optimiser.zero_grad()
            losses, step = losses + loss.item(), step + 1
        print(f"epoch {epoch}: loss {losses * BATCH / len(order):.4f}", flush=True)
    with torch.no_grad():
        logits, truth = of_parts(head, held, 0), torch.tensor([label for _, label in held])
    heat = float(min(np.geomspace(0.3, 4, 80), key=lambda t: F.cross_entropy(logits / t, truth).item()))
    print(f"held out: accuracy {(logits.argmax(1) == truth).float().mean():.4f}, temperature {heat:.3f}")
    tensors = {name: value.numpy().astype(np.float32) for name, value in head.state_dict().items()}
    for name in ("classifier.bias", "classifier.weight"):
        tensors[name] = (tensors[name] / heat).astype(np.float32)
    safetensors.write(directory / "model.safetensors", tensors)


def of_parts(head, rows, dropout):
    """(texts, classes)"""
    counts = [len(parts) for parts, _ in rows]
    flat = torch.from_numpy(np.concatenate([parts for parts, _ in rows]))
    logits = head.classifier(F.gelu(head.dense(F.dropout(flat, dropout))))
    away = (logits[:, 1] - logits[:, 0]).detach()
    begin = np.concatenate(([0], np.cumsum(counts)[:-1]))
    return logits[[int(b + away[b : b + n].argmax()) for b, n in zip(begin, counts)]]


if __name__ == "__main__":
    main()
