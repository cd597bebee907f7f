"""Fits the two layers of the head `injection` again on the states of the published adapter, which stays as it is: no accelerator is
needed. The states of 18,000 texts take half an hour on one core, the fit a minute.

Afterwards the log-odds are lowered until 1 % of held-out documents without an instruction are flagged at the threshold 0.7.

usage: refit.py --data DATA --trunk models/minilm --adapter weights/adapters/attacks --out DIR"""

import argparse
import json
import math
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import corpus
import export
import guards
import safetensors
import tokens
import train
import trunk

LIMIT = math.log(0.7 / 0.3)  # the log-odds of the threshold 0.7
FLAGGED = 0.01  # of held-out documents without an instruction
MOST = {"guards": 2000, "composed": 3500, "passage": 2500, "prompt": 1200, "tongues": 700}  # texts of an origin; 260 of others
HELD_OUT = 350
INJECTION_WEIGHT = 0.35  # compared with a text without an instruction
STEPS, TEXTS, RATE = 900, 1024, 1e-3


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", type=Path, required=True, help="directory of the public sets")
    args.add_argument("--trunk", type=Path, required=True, help="model directory of all-MiniLM-L6-v2")
    args.add_argument("--adapter", type=Path, required=True, help="the adapter whose head is fitted again")
    args.add_argument("--out", type=Path, required=True, help="a directory for the head")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--share", type=float, default=1, help="part of the texts to fit to")
    args.add_argument("--threads", type=int, default=1)
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    rng = random.Random(5)
    texts = with_states(args, sample(args.data, rng, args.share), rng)
    before = {name: torch.from_numpy(value) for name, value in safetensors.read(args.adapter / "injection" / "model.safetensors").items()}
    after = fit(args.seed, before, [e for e in texts if not e["held_out"]])
    documents = [e for e in texts if e["held_out"] and not e["label"] and e["origin"] in ("passage", "guards")]
    shift = max(0, float(torch.quantile(scores(after, documents), 1 - FLAGGED)) - LIMIT)
    after["classifier.bias"][1] -= shift
    for name, head in (("before", before), ("after", after)):
        report(name, head, [e for e in texts if e["held_out"]])
    args.out.mkdir(parents=True, exist_ok=True)
    safetensors.write(args.out / "model.safetensors", {name: value.numpy() for name, value in after.items()})


def sample(data, rng, share=1.0):
    """Returns texts of each origin and label of the task injection, and all of the development benchmark, which is only
    reported."""
    found, out = {}, []
    for e in guards.documents(data):
        found.setdefault((e["origin"], e["label"], e["held_out"]), {})[e["text"]] = e
    for (origin, _, held), by_text in sorted(found.items()):
        count = len(by_text) if origin.startswith("development") else HELD_OUT if held else round(share * MOST.get(origin, 260))
        out += rng.sample(list(by_text.values()), min(count, len(by_text)))
    return out


def with_states(args, examples, rng):
    """Returns the examples with `parts`, the mean state of each part: (parts, hidden)."""
    config = json.loads((args.adapter / "adapter_config.json").read_text(encoding="utf-8"))
    model = trunk.Trunk(args.trunk / "model.safetensors", config["r"], config["lora_alpha"])
    model.load_state_dict(export.read(args.adapter)["adapter"], strict=False)
    model.eval().merge()
    tokens.encode(args.program, args.trunk / "tokenizer.json", examples)
    batches = []
    for e in examples:
        e["ids"] = tokens.crop({"ids": e["ids"], "segments": None, "tags": None}, 256 if e["held_out"] else 160, rng)[0]
    for e in sorted(examples, key=lambda e: len(e["ids"])):
        if not batches or len(e["ids"]) * (len(batches[-1]) + 1) > 3000:
            batches.append([])
        batches[-1].append(e)
    for batch in batches:
        inputs = train.Batch([(e["ids"], None, None, 0) for e in batch])
        with torch.no_grad():
            means, there = trunk.parts(model(inputs.ids, inputs.segments, inputs.mask)[0], inputs.mask)
        for e, parts, mask in zip(batch, means, there):
            e["parts"] = parts[mask].clone()
    return examples


def scores(head, examples, dropout=0.0):
    """Returns the log-odds of the strongest part of each text: (texts)."""
    parts = torch.cat([e["parts"] for e in examples])
    owner = torch.repeat_interleave(torch.arange(len(examples)), torch.tensor([len(e["parts"]) for e in examples]))
    hidden = F.dropout(F.gelu(F.linear(parts, head["dense.weight"], head["dense.bias"])), dropout)
    logits = F.linear(hidden, head["classifier.weight"], head["classifier.bias"])
    return torch.full((len(examples),), -1e9).scatter_reduce(0, owner, logits[:, 1] - logits[:, 0], "amax")


def fit(seed, before, examples):
    torch.manual_seed(seed)
    head = {name: value.clone().requires_grad_(True) for name, value in before.items()}
    optimiser = torch.optim.AdamW(list(head.values()), RATE, weight_decay=1e-3)
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 20) * (1 - step / STEPS)
        drawn = [examples[i] for i in torch.randint(len(examples), (TEXTS,))]
        label = torch.tensor([float(e["label"]) for e in drawn])
        weight = torch.where(label > 0, INJECTION_WEIGHT, 1.0)
        loss = F.binary_cross_entropy_with_logits(scores(head, drawn, dropout=0.1), label, weight=weight)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return {name: value.detach() for name, value in head.items()}


def report(name, head, examples):
    groups = {}
    for e in examples:
        groups.setdefault((e["origin"], corpus.LABELS["injection"][e["label"]]), []).append(e)
    for (origin, label), group in sorted(groups.items()):
        flagged = int((scores(head, group) >= LIMIT).sum())
        print(f"{name}: {origin}, {label}: {flagged} of {len(group)} flagged", flush=True)


if __name__ == "__main__":
    main()
