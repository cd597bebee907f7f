"""Trains the published adapter of attacks further, together with its heads, so that correct judgements stay. The published adapter
scores each part of a text. Parts that it judges well keep nearly the same log-odds (distillation; Hinton et al., 2015); those of
other parts move to the right side of the threshold. One core is enough, because only the layers from --first on learn.

The published adapter scores a text when the text is drawn for the first time. A text that it judges well by a large margin is then
skipped, except for --sure of them. The running mean of the weights is written to OUT/last.pt, and every --every steps to
OUT/STEP.pt. --export mixes such states with the published adapter, which gets the rest of the shares. With --rows, it also prints
how many held-out rows both adapters flag.

A row is {"ids", "label", "group", "document", "tongue", "held_out"}; --draw writes new rows. While training, `odds` are the published
log-odds of the heads jailbreak and injection for each part of a row, and `type` are the probabilities of jailbreak-type.

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
import safetensors
import tokens
import train
import trunk

HEADS = ("jailbreak", "injection")
LIMIT = math.log(0.7 / 0.3)  # the log-odds of the threshold 0.7
MARGIN = 2  # the log-odds by which every text shall be right
# Each group's relative share of the draws, and the most rows of it. A group has one origin and one label; prompts of
# more than 128 tokens are "long" and have groups of their own.
SHARES = {
    "confidential 0": (10, 3000), "followups 0": (14, 3000), "templates 0": (9, 3000), "frame 0": (7, 3000), "short 0": (5, 3000),
    "written 0": (5, 3000), "scenes 0": (2, 3000), "generated 0": (2, 3000), "guards 0": (5, 3000), "everyday 0": (3, 3000),
    "passage 0": (3, 3000), "code 0": (4, 3000), "tongue 0": (6, 3000), "other 0": (3, 3000), "extraction 0": (6, 4900),
    "security 0": (5, 5700), "security long 0": (2, 3000), "guards long 0": (6, 6000), "passage long 0": (3, 3000),
    "scenes long 0": (2, 3000), "other long 0": (2, 3000),
    "frame 1": (18, 3000), "written 1": (9, 3000), "short 1": (8, 3000), "scenes 1": (4, 3000), "confidential 1": (3, 3000),
    "followups 1": (2, 3000), "templates 1": (2, 3000), "generated 1": (3, 3000), "generated long 1": (1, 3000), "wild 1": (5, 3000),
    "wild long 1": (2, 3000), "scenes long 1": (2, 3000), "code 1": (3, 3000), "tongue 1": (3, 3000), "extraction 1": (10, 2800),
    "security 1": (3, 3000), "security long 1": (1, 3000), "document 0": (6, 3000), "document 1": (7, 3000)}
ALIKE = {"in-passage 0": "passage 0", "tongues 0": "tongue 0", "generated-wishes 0": "generated 0", "generated-wishes 1": "generated 1",
         "guards-attack 1": "wild 1", "promptfuzz 1": "wild 1", "part 1": "wild 1", "in-passage 1": "wild 1"}


class Fit:
    """The adapter that learns, and the one that it continues."""

    def __init__(self, args):
        self.args = args
        config = json.loads((args.adapter / "adapter_config.json").read_text(encoding="utf-8"))
        of_head = json.loads((args.adapter / "jailbreak" / "config.json").read_text(encoding="utf-8"))
        self.tongue = -of_head.get("classifier_unsupported_shift", 0) if args.tongue is None else args.tongue
        state = export.read(args.adapter)
        self.heads = nn.ModuleDict({task: train.new_head(task) for task in (*HEADS, "jailbreak-type")})
        self.heads.load_state_dict({name: value.float() for name, value in state["heads"].items()})
        self.model, self.before = (trunk.Trunk(args.trunk / "model.safetensors", config["r"], config["lora_alpha"])
                                   for _ in range(2))
        for model in (self.model, self.before):
            model.load_state_dict(state["adapter"], strict=False)
        self.heads_before = copy.deepcopy(self.heads)
        if args.init:
            state = torch.load(args.init)
            self.model.load_state_dict(state["adapter"], strict=False)
            self.heads.load_state_dict(state["heads"])
        for layer in self.model.layers[: args.first]:
            layer.requires_grad_(False)
        self.names = [name for name, p in self.model.named_parameters() if p.requires_grad]
        self.adapter = [p for p in self.model.parameters() if p.requires_grad]
        self.learnt = self.adapter + list(self.heads.parameters())
        self.mean = [p.detach().clone() for p in self.learnt]

    def judge(self, row):
        """Records the margin by which the published adapter is right about a row."""
        row["limit"] = LIMIT + (self.tongue if row["tongue"] and not row["document"] else 0)
        row["right_by"] = float(side(row) * (np.float32(row["odds"])[:, int(row["document"])].max() - row["limit"]))

    def score_before(self, rows):
        """Adds the published adapter's log-odds to the rows that have none."""
        rows = [row for row in rows if "odds" not in row]
        if not rows:
            return
        batch = batch_of(rows)
        with torch.no_grad():
            states = self.before(batch.ids, batch.segments, batch.mask)[0]
            found, there, means = odds(self.heads_before, states, batch.mask)
            types = self.heads_before["jailbreak-type"](means[:, 0]).softmax(-1)
        for row, values, parts, kind in zip(rows, found, there, types):
            row["odds"] = values[parts].numpy().copy()
            if row["label"] and len(row["odds"]) == 1 and not row["document"]:
                row["type"] = kind.tolist()
            self.judge(row)

    def loss(self, rows, batch):
        states = self.model(batch.ids, batch.segments, batch.mask)[0]
        now, there, means = odds(self.heads, states, batch.mask)
        before = torch.zeros_like(now)
        for i, row in enumerate(rows):
            before[i, : len(row["odds"])] = torch.from_numpy(np.float32(row["odds"]))
        column = lambda make: torch.tensor([make(row) for row in rows])
        own, was_right_by = column(lambda row: int(row["document"])), column(lambda row: row["right_by"])
        strongest = now.gather(2, own[:, None, None].expand(-1, now.shape[1], 1))[..., 0].masked_fill(~there, -1e9).amax(1)
        right_by = column(side) * (strongest - column(lambda row: row["limit"]))
        texts = of_texts(right_by, was_right_by)
        stands = (was_right_by >= MARGIN).float()
        weight = torch.where(torch.arange(2)[None] == own[:, None], stands[:, None] * 0.5, torch.full((len(rows), 2), 0.15))
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


def batch_of(rows):
    return train.Batch([(row["ids"], None, None, 0) for row in rows])


def side(row):
    return 1.0 if row["label"] else -1.0


def huber(distance, delta):
    return F.huber_loss(distance, torch.zeros_like(distance), reduction="none", delta=delta)


def of_texts(right_by, was_right_by):
    """Returns the loss of each text. The goal keeps each text as right as it was, without making it much more so. It moves a
    text that is less right than MARGIN up to MARGIN, but by 5 at most. Texts near the threshold count twice."""
    goal = torch.minimum(was_right_by.clamp(MARGIN, 4), was_right_by + 5)
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


def batches(rows, budget, rng):
    """Yields batches of rows of similar length, without end."""
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    decks = {name: [] for name in groups}

    def draw_one(name):  # no row is repeated before all of its group were drawn
        if not decks[name]:
            decks[name] = rng.sample(groups[name], len(groups[name]))
        return decks[name].pop()

    while True:
        names = rng.choices(list(groups), [SHARES[name][0] for name in groups], k=1024)
        drawn = sorted(map(draw_one, names), key=lambda row: len(row["ids"]))
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
    args.add_argument("--init", type=Path, help="continue from this state, and keep what the published adapter judges well")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--tokens", type=float, default=2.5e6, help="drawn tokens after which the learning rate is a tenth and the run ends")
    args.add_argument("--rate", type=float, default=3e-4)
    args.add_argument("--batch", type=int, default=2400, help="drawn tokens per batch")
    args.add_argument("--first", type=int, default=2, help="number of the first layers that stay as they are")
    args.add_argument("--sure", type=float, default=0.2, help="part of the texts that are right by 3 or more from which to learn")
    args.add_argument("--rise", type=int, default=40, help="steps in which the learning rate rises")
    args.add_argument("--every", type=int, default=300, help="steps between two states")
    args.add_argument("--decay", type=float, default=0.99, help="of the running mean of the weights")
    args.add_argument("--tongue", type=float, help="by how much log-odds of other languages are lowered; default: as in the adapter")
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
    rows = [row for row in read_rows(args) if not row["held_out"]]
    optimiser = torch.optim.AdamW([{"params": fit.adapter}, {"params": list(fit.heads.parameters())}], args.rate,
                                  weight_decay=0.0, betas=(0.9, 0.98))
    seen, learnt, step, start, running = 0, 0, 0, time.time(), [0.0, 0.0]
    choose = random.Random(args.seed)
    for drawn in batches(rows, args.batch, random.Random(args.seed)):
        if seen >= args.tokens:
            break
        fall = 0.1 + 0.9 * (0.5 + 0.5 * math.cos(math.pi * seen / args.tokens))
        for group in optimiser.param_groups:
            group["lr"] = args.rate * min(1, (step + 1) / args.rise) * fall
        fit.score_before(drawn)
        seen += sum(len(row["ids"]) for row in drawn)
        drawn = [row for row in drawn if row["right_by"] < 3 or choose.random() < args.sure]
        if not drawn:
            continue
        batch = batch_of(drawn)
        loss, *losses = fit.loss(drawn, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(fit.learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        learnt, step = learnt + batch.ids.numel(), step + 1
        fit.follow(step)
        running = [0.98 * mean + 0.02 * loss for mean, loss in zip(running, losses)]
        if step % 25 == 0:
            print(f"{step} {time.time() - start:.0f} s {seen} tokens drawn, {learnt} learnt, texts {running[0]:.4f} parts {running[1]:.4f}", flush=True)
        if step % args.every == 0:
            fit.save(args.out / f"{step}.pt")
    fit.save(args.out / "last.pt")


def mixture(args):
    """Returns the sum of the states and of the published adapter, each times its share."""
    states = [(torch.load(path), float(share)) for path, _, share in (state.rpartition("=") for state in args.export)]
    states.append((export.read(args.adapter), 1 - sum(share for _, share in states)))
    return {part: {name: sum(share * state[part].get(name, value).float() for state, share in states)
                   for name, value in states[-1][0][part].items()} for part in ("adapter", "heads")}


def export_mixture(args):
    mixed, sides = mixture(args), {path: name for name, path in trunk.LINEARS.items()}
    if args.rows:
        report(args, mixed)
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


def report(args, mixed):
    """Prints how many held-out rows of each group the published adapter and the mixture flag, and the shift of each head's
    log-odds with which both flag equally many harmless rows of all its groups together."""
    fit = Fit(args)
    rows = sorted((row for row in read_rows(args) if row["held_out"]), key=lambda row: len(row["ids"]))
    for at in range(0, len(rows), 64):
        fit.score_before(rows[at : at + 64])
    fit.model.load_state_dict(mixed["adapter"], strict=False)
    fit.heads.load_state_dict(mixed["heads"])
    for at in range(0, len(rows), 64):
        part = rows[at : at + 64]
        batch = batch_of(part)
        with torch.no_grad():
            found, there, _ = odds(fit.heads, fit.model(batch.ids, batch.segments, batch.mask)[0], batch.mask)
        for row, values, parts in zip(part, found, there):
            row["now"] = float(values[parts][:, int(row["document"])].max()) - row["limit"]
    before = lambda row: side(row) * row["right_by"]
    for name in SHARES:
        group = [row for row in rows if row["group"] == name]
        flagged = [sum(score(row) >= 0 for row in group) for score in (before, lambda row: row["now"])]
        print(f"{name}: {flagged[0]} and {flagged[1]} of {len(group)} flagged", flush=True)
    for document, name in enumerate(HEADS):
        harmless = [row for row in rows if not row["label"] and row["document"] == bool(document)]
        count, highest = sum(before(row) >= 0 for row in harmless), sorted((row["now"] for row in harmless), reverse=True)
        print(f"{name}: shift for as many harmless texts as before, {count} of {len(harmless)}: {-highest[count]:.2f}", flush=True)


def read_rows(args):
    with open(args.rows, encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if row["group"] in SHARES]


def draw(args):
    """Yields new rows of all groups."""
    rng, found = random.Random(args.seed), {}
    examples = [e for e in guards.prompts(args.draw) if e["task"] == "jailbreak"] + list(guards.documents(args.draw))
    examples = [e for e in examples if not e["origin"].startswith("development")]
    tokens.encode(args.program, args.trunk / "tokenizer.json", examples)
    for e in examples:
        found.setdefault(group_of(e), {})[e["text"]] = e
    for group in sorted(found.keys() & SHARES.keys()):
        drawn, document = list(found[group].values()), group.startswith("document")
        for e in rng.sample(drawn, min(len(drawn), SHARES[group][1])):
            ids = tokens.crop({"ids": e["ids"], "segments": None, "tags": None}, 160 if document else 256, rng)[0]
            yield {"ids": ids, "label": int(e["label"]), "group": group, "document": document,
                   "tongue": e["origin"] in ("tongue", "tongues"), "held_out": e["held_out"]}


def group_of(e):
    if e["task"] == "injection":
        return f"document {e['label']}"
    name = f"{e['origin']} {e['label']}"
    name = ALIKE.get(name, name)
    origin = name[:-2] if name in SHARES else "other"
    return f"{origin} long {e['label']}" if len(e["ids"]) > 128 else f"{origin} {e['label']}"


if __name__ == "__main__":
    main()
