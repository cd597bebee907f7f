"""Continues the published adapter of attacks with its own heads, and keeps what stands: the log-odds of each part of a text that it
already judges well may hardly change (distillation; Hinton et al., 2015), and only the others are moved to the right side of the
threshold. One core is enough; the layers compute in bfloat16.

The published adapter scores a text when it is drawn for the first time, unless its row has these log-odds. A text that is wrong or
near the threshold is drawn more often. Every --every steps, the running mean of the weights is written to OUT/STEP.pt; --export
mixes such states and the published adapter, whose share is the rest.

A row is {"ids", "label", "group", "document", "tongue", "held_out", "odds"?, "type"?}: `odds` are the log-odds of the heads
jailbreak and injection for each part, `type` are the probabilities of jailbreak-type. --draw writes new rows without either.

usage: keep.py --trunk models/minilm --adapter weights/adapters/attacks --out OUT --rows ROWS.jsonl [--draw DATA] [OPTIONS]
       keep.py --trunk models/minilm --adapter weights/adapters/attacks --out OUT --export STATE.pt=SHARE [--export ...]"""

import argparse
import copy
import json
import math
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import corpus
import export
import guards
import refit
import safetensors
import tokens
import train
import trunk

HEADS = ("jailbreak", "injection")
LIMIT = math.log(0.7 / 0.3)  # the log-odds of the threshold 0.7
# How often each group is drawn, relative to the others.
SHARES = {"conf": 16, "confattack": 6, "attack": 25, "wild": 7, "code": 5, "tongue": 7, "everyday": 8, "mined": 14, "short": 8,
          "harmless": 8, "passage": 3, "followups": 8, "templates": 4, "mine": 5, "persona": 4, "guards": 4, "document": 5}
WILD = ("wild", "promptfuzz", "guards-attack", "in-passage", "part")


class Fit:
    """The adapter that learns, and the one that it continues."""

    def __init__(self, args):
        self.args, self.least = args, by_group(args.least)
        config = json.loads((args.adapter / "adapter_config.json").read_text(encoding="utf-8"))
        state = export.read(args.adapter)
        self.heads = nn.ModuleDict({task: train.new_head(task) for task in (*HEADS, "jailbreak-type")})
        self.heads.load_state_dict({name: value.float() for name, value in state["heads"].items()})
        self.model, self.before = (trunk.Trunk(args.trunk / "model.safetensors", config["r"], config["lora_alpha"], 0.0, True)
                                   for _ in range(2))
        for model in (self.model, self.before):
            model.load_state_dict(state["adapter"], strict=False)
        self.heads_before = copy.deepcopy(self.heads)
        self.names = [name for name, p in self.model.named_parameters() if p.requires_grad]
        self.adapter = [p for p in self.model.parameters() if p.requires_grad]
        self.learnt = self.adapter + list(self.heads.parameters())
        self.mean = [p.detach().clone() for p in self.learnt]

    def judge(self, row):
        """Notes by how much the adapter before is right about a row."""
        row["limit"] = LIMIT + (self.args.tongue if row["tongue"] and not row["document"] else 0)
        row["right_by"] = float(side(row) * (np.float32(row["odds"])[:, int(row["document"])].max() - row["limit"]))

    def weigh(self, row):
        """Notes how often a row is to be drawn. With --again, its log-odds are of an earlier adapter, and serve for this alone."""
        row["weight"] = 1.0
        if "odds" in row:
            self.judge(row)
            right_by = row["right_by"] + (side(row) * (row["limit"] - LIMIT) if self.args.again else 0)
            row["weight"] = 4.0 if right_by < 1.5 else 1.5 if right_by < 3 else 0.5
            if self.args.again:
                del row["odds"]

    def score_before(self, rows, batch):
        """Adds the published adapter's log-odds to the rows that have none."""
        if all("odds" in row for row in rows):
            return
        with torch.no_grad():
            states = self.before(batch.ids, batch.segments, batch.mask)[0]
            found, there, _ = odds(self.heads_before, states, batch.mask)
        for row, values, parts in zip(rows, found, there):
            if "odds" not in row:
                row["odds"] = values[parts].numpy().copy()
                self.judge(row)

    def loss(self, rows, batch):
        self.score_before(rows, batch)
        states = self.model(batch.ids, batch.segments, batch.mask)[0]
        now, there, means = odds(self.heads, states, batch.mask)
        before = torch.zeros_like(now)
        for i, row in enumerate(rows):
            before[i, : len(row["odds"])] = torch.from_numpy(np.float32(row["odds"]))
        column = lambda make: torch.tensor([make(row) for row in rows])
        own, was_right_by = column(lambda row: int(row["document"])), column(lambda row: row["right_by"])
        strongest = now.gather(2, own[:, None, None].expand(-1, now.shape[1], 1))[..., 0].masked_fill(~there, -1e9).amax(1)
        right_by = column(side) * (strongest - column(lambda row: row["limit"]))
        least = column(lambda row: 0.0 if row["label"] else self.least.get(row["group"], 0.0))
        texts = of_texts(right_by, was_right_by, least)
        stands = (was_right_by >= 1).float()
        weight = torch.where(torch.arange(2)[None] == own[:, None], stands[:, None] * 0.5, torch.full((len(rows), 2), 0.15))
        if self.args.hold != 1:
            weight = torch.where(least[:, None] > 0, weight * 0.3, weight * self.args.hold)
        parts = (huber(now - before, 0.5) * there[..., None] * weight[:, None]).sum((1, 2)) / there.sum(1)
        return (texts + parts).mean() + 0.05 * self.loss_of_types(rows, means), texts.mean().item(), parts.mean().item()

    def loss_of_types(self, rows, means):
        """Keeps the scores of jailbreak-type, for attacks of one part."""
        at = [i for i, row in enumerate(rows) if "type" in row]
        if not at:
            return 0
        goal = torch.tensor([rows[i]["type"] for i in at])
        return F.cross_entropy(self.heads["jailbreak-type"](means[at, 0]), goal) * len(at) / len(rows)

    def follow(self, step):
        """Moves the running mean of the weights."""
        decay = min(self.args.decay, step / (step + 9))
        with torch.no_grad():
            for mean, p in zip(self.mean, self.learnt):
                mean.mul_(decay).add_(p, alpha=1 - decay)

    def save(self, path):
        count = len(self.names)
        heads = dict(zip((name for name, _ in self.heads.named_parameters()), self.mean[count:]))
        torch.save({"adapter": dict(zip(self.names, self.mean[:count])), "heads": heads}, path)


def by_group(given):
    """Returns the number of each group from options GROUP=NUMBER."""
    return {name: float(number) for name, _, number in (option.partition("=") for option in given)}


def side(row):
    return 1.0 if row["label"] else -1.0


def huber(distance, delta):
    return F.huber_loss(distance, torch.zeros_like(distance), reduction="none", delta=delta)


def of_texts(right_by, was_right_by, least):
    """Returns the loss of each text. A text that was right shall stay as right as it was, and not become much more so; a wrong
    one shall cross the threshold, or at least move by 4 towards it; all shall be right by `least`. Texts near the threshold
    count twice."""
    wrong = was_right_by < 1
    goal = torch.where(wrong, torch.minimum(torch.full_like(was_right_by, 1.2), was_right_by + 4), was_right_by.clamp(max=4))
    goal = torch.where(least > 0, torch.maximum(goal, least), goal)
    over = (right_by - torch.maximum(was_right_by, goal) - 0.5).clamp(min=0)
    near = (was_right_by.abs() < 3).float()
    return (1 + near) * huber((goal - right_by).clamp(min=0), 0.7) + 0.3 * huber(over, 0.5)


def odds(heads, states, mask):
    """Returns the log-odds of each part for both heads, (texts, parts, 2), which parts exist, and their mean states."""
    means, there = trunk.parts(states, mask)
    out = []
    for task in HEADS:
        logits = heads[task].classifier(F.gelu(heads[task].dense(means)))
        out.append(logits[..., 1] - logits[..., 0])
    return torch.stack(out, -1), there, means


def batches(rows, chosen, budget, rng):
    """Yields batches of rows of similar length, without end."""
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    sums = {name: np.cumsum([row["weight"] for row in group]).tolist() for name, group in groups.items()}
    shares = {name: share for name, share in chosen.items() if name in groups}
    while True:
        names = rng.choices(list(shares), list(shares.values()), k=1024)
        drawn = sorted((rng.choices(groups[name], cum_weights=sums[name])[0] for name in names), key=lambda row: len(row["ids"]))
        made = [[]]
        for row in drawn:
            if made[-1] and len(row["ids"]) * (len(made[-1]) + 1) > budget:
                made.append([])
            made[-1].append(row)
        rng.shuffle(made)
        yield from made


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", type=Path, required=True, help="model directory of all-MiniLM-L6-v2")
    args.add_argument("--adapter", type=Path, required=True, help="the published adapter")
    args.add_argument("--out", type=Path, required=True, help="directory of the states, or of the exported adapter")
    args.add_argument("--rows", type=Path, help="file of rows (.jsonl)")
    args.add_argument("--draw", type=Path, help="draw the rows from this directory of public sets first")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--tokens", type=float, default=1.3e6, help="tokens after which the learning rate is a tenth")
    args.add_argument("--rate", type=float, default=3e-4)
    args.add_argument("--batch", type=int, default=900, help="tokens per batch")
    args.add_argument("--rise", type=int, default=60, help="steps in which the learning rate rises")
    args.add_argument("--every", type=int, default=150, help="steps between two states")
    args.add_argument("--decay", type=float, default=0.99, help="of the running mean of the weights")
    args.add_argument("--group", action="append", default=[], help="GROUP=SHARE of the texts, instead of SHARES; repeatable")
    args.add_argument("--tongue", type=float, default=3, help="by how much log-odds of other languages are lowered")
    args.add_argument("--least", action="append", default=[], help="GROUP=LOG-ODDS by which harmless rows shall be right; repeatable")
    args.add_argument("--hold", type=float, default=1, help="weight of the log-odds that stand, and 0.3 for the rows of --least")
    args.add_argument("--again", action="store_true", help="the adapter is not the one that scored the rows")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--export", action="append", help="instead of training, write an adapter that contains this share of a state")
    parser, args = args, args.parse_args()
    torch.set_num_threads(1)
    if args.export:
        return export_mixture(args)
    if args.rows is None:
        parser.error("expected --rows or --export")
    args.out.mkdir(parents=True, exist_ok=True)
    if args.draw:
        args.rows.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in draw(args)), encoding="utf-8")
    learn(args)


def learn(args):
    torch.manual_seed(args.seed)
    fit = Fit(args)
    with open(args.rows, encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if not row["held_out"]]
    shares = by_group(args.group) or SHARES
    rows = [row for row in rows if row["group"] in shares]
    for row in rows:
        fit.weigh(row)
    optimiser = torch.optim.AdamW([{"params": fit.adapter}, {"params": list(fit.heads.parameters())}], args.rate,
                                  weight_decay=0.0, betas=(0.9, 0.98))
    seen, step, start, running = 0, 0, time.time(), [0.0, 0.0]
    for drawn in batches(rows, shares, args.batch, random.Random(args.seed)):
        if seen >= args.tokens:
            break
        fall = 0.1 + 0.9 * (0.5 + 0.5 * math.cos(math.pi * seen / args.tokens))
        for group in optimiser.param_groups:
            group["lr"] = args.rate * min(1, (step + 1) / args.rise) * fall
        batch = train.Batch([(row["ids"], None, None, 0) for row in drawn])
        loss, *losses = fit.loss(drawn, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(fit.learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        seen, step = seen + batch.ids.numel(), step + 1
        fit.follow(step)
        running = [0.98 * mean + 0.02 * loss for mean, loss in zip(running, losses)]
        if step % 25 == 0:
            print(f"{step} {time.time() - start:.0f} s {seen} tokens, texts {running[0]:.4f} parts {running[1]:.4f}", flush=True)
        if step % args.every == 0:
            fit.save(args.out / f"{step}.pt")
    fit.save(args.out / "last.pt")


def mixture(args):
    """Returns the sum of the states and of the published adapter, each times its share."""
    states = [(torch.load(path), float(share)) for path, _, share in (state.rpartition("=") for state in args.export)]
    states.append((export.read(args.adapter), 1 - sum(share for _, share in states)))
    return {part: {name: sum(share * state[part][name].float() for state, share in states) for name in states[-1][0][part]}
            for part in ("adapter", "heads")}


def export_mixture(args):
    mixed, sides = mixture(args), {path: name for name, path in trunk.LINEARS.items()}
    for file in [args.adapter / "adapter_model.safetensors", *sorted(args.adapter.glob("*/model.safetensors"))]:
        out, tensors, of_trunk = args.out / file.relative_to(args.adapter), safetensors.read(file), file.parent == args.adapter
        for name in tensors:
            if of_trunk:
                layer, path = name.removesuffix(".weight").split(".", 5)[4:]
                path, part = path.rsplit(".lora_", 1)
                value = mixed["adapter"][f"layers.{layer}.{sides[path]}.{part.lower()}"]
            else:
                prefix = "" if "dense.weight" in tensors else "classifier."
                value = mixed["heads"][f"{file.parent.name}.{name.removeprefix(prefix)}"]
            tensors[name] = value.numpy().astype(np.float16 if of_trunk else np.float32)
        out.parent.mkdir(parents=True, exist_ok=True)
        safetensors.write(out, tensors)


# The most texts of an origin and a label; 900 and 60 of other origins.
MOST = {"everyday": 2500, "short": 3000, "code": 2800, "tongue": 2600, "guards": 3000, "confidential": 4000}
MOST_LONG = {"guards": 900, "wild": 200, "scenes": 150, "in-passage": 150, "passage": 120}


def group_of(origin, label):
    """Returns the group of a short text."""
    if origin == "confidential":
        return "confattack" if label else "conf"
    if origin in ("tongue", "tongues"):
        return "tongue"
    if origin == "code":
        return origin
    if label:
        return "wild" if origin in WILD else "attack"
    return origin if origin in ("everyday", "short") else "passage" if origin in ("passage", "in-passage") else "harmless"


def draw(args):
    """Yields new rows of all groups but `mined`, `mine`, `persona` and `guards`, and of `long`."""
    rng, found = random.Random(args.seed), {}
    for e in guards.prompts(args.draw):
        if e["task"] == "jailbreak" and not e["origin"].startswith("development"):
            found.setdefault((e["origin"], e["label"], e["held_out"]), {})[e["text"]] = e
    drawn = []
    for (origin, label, _), by_text in sorted(found.items()):
        short = [e for text, e in by_text.items() if len(text) < 650]
        long = [e for text, e in by_text.items() if len(text) >= 650]
        drawn += [(group_of(origin, label), e) for e in rng.sample(short, min(len(short), MOST.get(origin, 900)))]
        drawn += [("long", e) for e in rng.sample(long, min(len(long), MOST_LONG.get(origin, 60)))]
    drawn += [("document", e) for e in refit.sample(args.draw, rng) if not e["origin"].startswith("development")]
    for row in corpus.generated("frames", 3600):
        drawn.append((row["kind"], corpus.example("jailbreak", row["text"], row["label"], origin=row["kind"])))
    tokens.encode(args.program, args.trunk / "tokenizer.json", [e for _, e in drawn])
    for group, e in drawn:
        limit = {"long": 256, "document": 160}.get(group, 128)
        ids = tokens.crop({"ids": e["ids"], "segments": None, "tags": None}, limit, rng)[0]
        yield {"ids": ids, "label": int(e["label"]), "group": group, "document": group == "document",
               "tongue": e["origin"] in ("tongue", "tongues"), "held_out": e["held_out"]}


if __name__ == "__main__":
    main()
