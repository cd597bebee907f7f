"""The jailbreak head of a finished adapter: one hidden layer on the mean over a window's tokens.

A text is an attack where one of its windows is, so what learns is the highest score of a text's windows: an attack
counts once, and every window of a harmless text. Beside the task's own rows it sees passages alone, and both kinds of rows in
the midst of passages, as a long prompt has them.

usage: attacks.py --data DATA --adapter signals [--program build/release/signalbox]"""

import argparse
import json
import random
import subprocess
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import corpus
import export
import passages
import safetensors
import trunk

WINDOW = 1000  # characters of prose in the windows that service reads
ALONE, AROUND_ATTACKS, AROUND_HARMLESS = 14000, 6000, 3000
EPOCHS, BATCH, RATE = 6, 512, 2e-3
LEAN = 1.85  # added to what was learnt: harmless texts here are far harder than those that are sent; by held-out texts


def rows(data, rng):
    """[(text, is an attack)]"""
    own = [(e["text"], e["label"]) for e in corpus.jailbreak(data) if e["task"] == "jailbreak" and not e["held_out"]]
    short = [[text for text, label in own if label == kind and len(text) < 0.7 * WINDOW] for kind in (0, 1)]
    cutter = passages.Cutter(data, rng)
    out = own + [(cutter.cut(WINDOW), 0) for _ in range(ALONE)]
    for label, count in ((1, AROUND_ATTACKS), (0, AROUND_HARMLESS)):
        for text in rng.sample(short[label], min(count, len(short[label]))):
            around = cutter.cut(max(100, WINDOW - len(text)))
            at = rng.randrange(len(around) + 1)
            gap = rng.choice(("\n\n", "\n", " "))
            out.append((around[:at] + gap + text + gap + around[at:], label))
    return out


def windows(text):
    """Windows that share an eighth, as in service, where tokens count instead of characters."""
    step = WINDOW * 7 // 8
    return [text[at : at + WINDOW] for at in range(0, max(1, len(text) - WINDOW // 8), step)] or [text]


def embedded(program, adapter, texts):
    """(texts, hidden): the means over each one's tokens, at length 1; half of them in each of two processes."""
    halves = [texts[: len(texts) // 2], texts[len(texts) // 2 :]]
    runs = []
    for i, half in enumerate(halves):
        asked = adapter / f".texts{i}"
        asked.write_text("".join(json.dumps({"text": text}) + "\n" for text in half), encoding="utf-8")
        runs.append(subprocess.Popen([program, "embed", "--model", adapter, "--dtype", "int8"], stdin=asked.open(),
                                     stdout=(adapter / f".vectors{i}").open("w")))
    out = []
    for i, run in enumerate(runs):
        if run.wait() != 0:
            raise SystemExit(f"{program} embed ended with {run.returncode}")
        with (adapter / f".vectors{i}").open() as lines:
            out += [np.array(json.loads(line)["embedding"], np.float32) for line in lines]
        for name in ("texts", "vectors"):
            (adapter / f".{name}{i}").unlink()
    return torch.from_numpy(np.stack(out))


def learn(x, owner, truth, seed):
    """The head that makes of x (windows, hidden), of texts owner (windows) in order, their truth (texts)."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    mean, spread = x.mean(0), x.std(0) + 1e-6  # one of the numbers is always nought
    x = (x - mean) / spread
    dense, last = torch.nn.Linear(trunk.HIDDEN, trunk.HIDDEN), torch.nn.Linear(trunk.HIDDEN, 1)
    learnt = [*dense.parameters(), *last.parameters()]
    optimiser = torch.optim.AdamW(learnt, RATE, weight_decay=1e-3)
    begin, end = np.searchsorted(owner, np.arange(len(truth))), np.searchsorted(owner, np.arange(len(truth)), "right")
    order, steps, step = np.arange(len(truth)), EPOCHS * (len(truth) // BATCH), 0
    for epoch in range(EPOCHS):
        rng.shuffle(order)
        losses = 0.0
        for at in range(0, len(order) - BATCH + 1, BATCH):
            texts = order[at : at + BATCH]
            index = np.concatenate([np.arange(begin[t], end[t]) for t in texts])
            text_of = torch.from_numpy(np.repeat(np.arange(BATCH), end[texts] - begin[texts]))
            score = last(F.dropout(F.gelu(dense(x[index])), 0.1))[:, 0]
            highest = torch.full((BATCH,), -1e4).scatter_reduce(0, text_of, score, "amax")
            loss = F.binary_cross_entropy_with_logits(highest, truth[texts])
            loss.backward()
            for group in optimiser.param_groups:
                group["lr"] = RATE * max(0.02, 1 - step / steps)
            optimiser.step()
            optimiser.zero_grad()
            losses, step = losses + loss.item(), step + 1
        print(f"epoch {epoch}: loss {losses * BATCH / len(order):.4f}", flush=True)
    weight = dense.weight.detach() / spread  # of x as it comes
    bias = dense.bias.detach() - weight @ mean
    return weight, bias, last.weight.detach()[0], last.bias.detach() + LEAN


def write(directory, weight, bias, direction, offset):
    """Two classes whose logits differ by the score."""
    directory.mkdir(exist_ok=True)
    export.write_json(directory / "config.json", {
        "model_type": "bert", "architectures": ["LinearForSequenceClassification"], "hidden_size": trunk.HIDDEN,
        "num_labels": 2, "classifier_pooling": "mean", "classifier_normalize": True, "classifier_activation": "gelu",
        "id2label": {str(i): label for i, label in enumerate(corpus.LABELS["jailbreak"])}})
    both = lambda value: np.stack([-0.5 * value.numpy(), 0.5 * value.numpy()]).astype(np.float32)
    safetensors.write(directory / "model.safetensors", {
        "dense.weight": weight.numpy().astype(np.float32), "dense.bias": bias.numpy().astype(np.float32),
        "classifier.weight": both(direction), "classifier.bias": both(offset)[:, 0]})


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", type=Path, required=True, help="directory of the public sets")
    args.add_argument("--adapter", type=Path, required=True, help="model directory of the adapter; its head is replaced")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    labelled = rows(args.data, random.Random(args.seed))
    pieces = [(i, piece) for i, (text, _) in enumerate(labelled) for piece in windows(text) if piece.strip()]
    print(f"{len(labelled)} texts, {sum(label for _, label in labelled)} of them attacks, {len(pieces)} windows", flush=True)
    x = embedded(args.program, args.adapter, [piece for _, piece in pieces])
    truth = torch.tensor([float(label) for _, label in labelled])
    write(args.adapter / "jailbreak", *learn(x, np.array([i for i, _ in pieces]), truth, args.seed))


if __name__ == "__main__":
    main()
