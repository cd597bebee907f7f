"""Trains one adapter with the heads of several tasks. See README.md.

Each batch belongs to one task, chosen in proportion to its weight, and contains texts of similar length. The loss is cross
entropy with slight label smoothing, except for heads that compare the scores of many parts, which use none. The optimiser
is AdamW with a learning rate that rises for a while and then falls to zero. Several processes (--workers) train on their own
batches and share their gradients; on two cores, this is twice as fast as two threads in one process."""

import argparse
import json
import math
import random
import time
from pathlib import Path

import torch
import torch.distributed
import torch.multiprocessing
import torch.nn.functional as F
from torch import nn

import corpus
import export
import guards  # adds tasks to the corpus
import texts
import tokens
import trunk


class Stream:
    """An endless stream of batches of one task. Each pass is shuffled and sorted by length within chunks."""

    def __init__(self, examples, budget, limit, seed):
        self.examples, self.budget, self.limit = examples, budget, limit
        self.random, self.waiting = random.Random(seed), []

    def next(self):
        if not self.waiting:
            self.random.shuffle(self.examples)
            for at in range(0, len(self.examples), 1024):
                chunk = [(*tokens.crop(e, self.limit, self.random), e["label"])
                         for e in self.examples[at : at + 1024]]
                chunk.sort(key=lambda item: len(item[0]))
                batch = []
                for item in chunk:
                    if batch and len(item[0]) * (len(batch) + 1) > self.budget:
                        self.waiting.append(batch)
                        batch = []
                    batch.append(item)
                self.waiting.append(batch)
            self.random.shuffle(self.waiting)
        return self.waiting.pop()


def padded(batch):
    """Returns the tensors ids, segments and mask (texts, tokens), and the true labels, (texts) or (texts, tokens)."""
    length = max(len(item[0]) for item in batch)
    fill = lambda values, empty: values + [empty] * (length - len(values))
    ids = torch.tensor([fill(item[0], 0) for item in batch])
    segments = torch.tensor([fill(item[1], 0) for item in batch])
    mask = torch.tensor([fill([1.0] * len(item[0]), 0.0) for item in batch])
    if batch[0][2] is not None:
        return ids, segments, mask, torch.tensor([fill(item[2], -100) for item in batch])
    return ids, segments, mask, torch.tensor([item[3] for item in batch])


def logits_of(model, heads, task, ids, segments, mask):
    states = model(ids, segments, mask)
    if task in corpus.PART_TASKS:
        return heads[task](F.dropout(states, 0.1, model.training), mask)
    if task not in corpus.TOKEN_TASKS:
        states = trunk.pooled(states, mask)
    return heads[task](F.dropout(states, 0.1, model.training))


def new_head(task):
    classes = len(corpus.LABELS[task])
    return trunk.StrongestPart(classes) if task in corpus.PART_TASKS else nn.Linear(trunk.HIDDEN, classes)


def spans_of(row, marks):
    """Returns the spans of the tags as {(type, first token, token after the last)}. An I- tag that continues no span of its
    type begins a new one."""
    labels, out = corpus.LABELS["pii"], []
    for i, (mark, truth) in enumerate(zip(marks, row)):
        if truth == -100:
            continue
        label = labels[mark] if len(labels) > mark else "O"
        if label == "O":
            continue
        if label[0] == "I" and out and out[-1][2] == i and out[-1][0] == label[2:]:
            out[-1][2] = i + 1
        else:
            out.append([label[2:], i, i + 1])
    return {tuple(span) for span in out}


def quality(model, heads, task, examples, limit):
    """Returns the accuracy by origin; for taggers, the F1 of spans (pii) or of tokens."""
    model.eval()
    by_origin, rng = {}, random.Random(0)
    with torch.no_grad():
        examples = sorted(examples, key=lambda e: len(e["ids"]))
        for at in range(0, len(examples), 32):
            part = examples[at : at + 32]
            batch = [(*tokens.crop(e, limit, rng), e["label"]) for e in part]
            ids, segments, mask, truth = padded(batch)
            best = logits_of(model, heads, task, ids, segments, mask).argmax(-1)
            for e, row, found in zip(part, truth, best):
                count = by_origin.setdefault(e["origin"], [0, 0, 0])
                if task == "pii":
                    want, got = spans_of(row.tolist(), row.tolist()), spans_of(row.tolist(), found.tolist())
                    for i, n in enumerate((len(want & got), len(want), len(got))):
                        count[i] += n
                elif task == "hallucination":
                    for i, n in enumerate((((row == 1) & (found == 1)).sum(), (row == 1).sum(),
                                           ((found == 1) & (row != -100)).sum())):
                        count[i] += int(n)
                else:
                    count[0] += int(row == found)
                    count[1] += 1
                    count[2] += 1
    model.train()
    return {origin: round(2 * hit / max(1, want + got), 4) for origin, (hit, want, got) in sorted(by_origin.items())}


class Team:
    """The processes that train together; this process is number `rank`."""

    def __init__(self, rank, workers, meet):
        self.rank, self.workers = rank, workers
        if workers > 1:
            torch.distributed.init_process_group("gloo", init_method=f"file://{meet}", rank=rank, world_size=workers)

    def share(self, learnt, done):
        """Replaces every gradient by the mean over all processes. Returns the greatest `done`, which is the same for all."""
        if self.workers == 1:
            return done
        for p in learnt:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        flat = torch.cat([p.grad.flatten() for p in learnt]) / self.workers
        torch.distributed.all_reduce(flat)
        at = 0
        for p in learnt:
            p.grad.copy_(flat[at : at + p.numel()].view_as(p))
            at += p.numel()
        latest = torch.tensor([done])
        torch.distributed.all_reduce(latest, torch.distributed.ReduceOp.MAX)
        return latest.item()


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--task", action="append", required=True, help="NAME or NAME=WEIGHT; repeatable")
    args.add_argument("--data", type=Path, required=True, help="directory of the public sets")
    args.add_argument("--trunk", type=Path, required=True, help="model directory of all-MiniLM-L6-v2")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--out", type=Path, required=True, help="directory of the adapter")
    args.add_argument("--init", type=Path, help="continue from this state file (state.pt) or adapter directory")
    args.add_argument("--mined", type=Path, help="output of mine.py, used for training as well")
    args.add_argument("--tokens", type=float, default=6e6, help="number of tokens to train on")
    args.add_argument("--minutes", type=float, default=1e9, help="time limit; the learning rate falls accordingly")
    args.add_argument("--batch", type=int, default=1536, help="tokens per batch")
    args.add_argument("--limit", type=int, default=192, help="maximum tokens per text")
    args.add_argument("--half", action="store_true", help="compute in bfloat16, without dropout in the trunk")
    args.add_argument("--examples", type=Path, help="read the examples from this file, or write it if it does not exist")
    args.add_argument("--rank", type=int, default=32)
    args.add_argument("--rate", type=float, default=1.2e-3)
    args.add_argument("--dropout", type=float, default=0.05)
    args.add_argument("--smoothing", type=float, default=0.03)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--workers", type=int, default=1, help="number of processes, with one thread each")
    args = args.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    meet = (args.out / "meeting").resolve()
    meet.unlink(missing_ok=True)
    if args.workers == 1:
        learn(0, args, meet)
    else:
        torch.multiprocessing.spawn(learn, (args, meet), args.workers)


def learn(worker, args, meet):
    team = Team(worker, args.workers, meet)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    weights = {name: float(weight or 1) for name, _, weight in (t.partition("=") for t in args.task)}
    corpus.mined = args.mined
    examples = read_examples(args, weights)
    for e in examples:
        if e["spans"] is not None:
            e["tags"] = tokens.tags(e, corpus.LABELS[e["task"]])
    tasks = sorted({e["task"] for e in examples})
    train = {t: [e for e in examples if e["task"] == t and not e["held_out"]] for t in tasks}
    held = {t: [e for e in examples if e["task"] == t and e["held_out"]] for t in tasks}
    for t in tasks if worker == 0 else []:
        length = sum(min(len(e["ids"]), args.limit) for e in train[t])
        print(f"{t}: {len(train[t])} texts, {length} tokens, {len(held[t])} held out", flush=True)

    model = trunk.Trunk(args.trunk / "model.safetensors", args.rank, args.rank, args.dropout, args.half)
    heads = nn.ModuleDict({t: new_head(t) for t in tasks})
    if args.init:
        state = export.read(args.init) if args.init.is_dir() else torch.load(args.init)
        model.load_state_dict(state["adapter"], strict=False)
        heads.load_state_dict({k: v for k, v in state["heads"].items() if k.split(".")[0] in tasks}, strict=False)
    learnt = [p for p in model.parameters() if p.requires_grad] + list(heads.parameters())
    optimiser = torch.optim.AdamW(learnt, args.rate, weight_decay=0.01)
    streams = {t: Stream(train[t], args.batch, args.limit, args.seed + worker) for t in tasks}
    choose = random.Random(args.seed + worker)
    torch.manual_seed(args.seed + worker)  # for dropout; the initial weights are the same in all processes

    model.train()
    start, seen, step, running = time.time(), 0, 0, {}
    checks = 1
    done = 0.0
    while done < 1:
        rate = args.rate * min(done / 0.08, 1) * (0.5 + 0.5 * math.cos(math.pi * done))
        for group in optimiser.param_groups:
            group["lr"] = rate
        task = choose.choices(tasks, [weights.get(t, 0.15) for t in tasks])[0]
        ids, segments, mask, truth = padded(streams[task].next())
        logits = logits_of(model, heads, task, ids, segments, mask)
        loss = F.cross_entropy(logits.flatten(0, -2), truth.flatten(), ignore_index=-100, reduction="sum",
                               label_smoothing=0 if task in corpus.PART_TASKS else args.smoothing)
        loss = loss / (truth != -100).sum().clamp(min=1)  # a window of a passage may have no labelled token
        loss.backward()
        seen, step = seen + ids.numel() * args.workers, step + 1
        done = team.share(learnt, max(seen / args.tokens, (time.time() - start) / 60 / args.minutes))
        nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        running[task] = 0.98 * running.get(task, loss.item()) + 0.02 * loss.item()
        if step % 100 == 0 and worker == 0:
            losses = " ".join(f"{t} {v:.3f}" for t, v in sorted(running.items()))
            print(f"{done:.3f} {time.time() - start:.0f} s, {seen / (time.time() - start):.0f} tokens/s, {losses}",
                  flush=True)
        if done > checks * 0.25 and worker == 0:
            checks += 1
            save(args, model, heads)
            report(model, heads, held, args.limit, 300)
    if worker == 0:
        save(args, model, heads)
        report(model, heads, held, args.limit, 1000)
        export.write(args.out, model, heads, held, args)


def read_examples(args, sources):
    if args.examples and args.examples.exists():
        return texts.json_lines(args.examples)
    examples = [e for source in sources if source in corpus.TASKS for e in corpus.TASKS[source](args.data)]
    tokens.encode(args.program, args.trunk / "tokenizer.json", examples)
    if args.examples:
        with args.examples.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(e) + "\n" for e in examples)
    return examples


def save(args, model, heads):
    learnt = {k: v for k, v in model.state_dict().items() if k.endswith((".a", ".b"))}
    torch.save({"adapter": learnt, "heads": heads.state_dict()}, args.out / "state.pt")


def report(model, heads, held, limit, count):
    for task, examples in held.items():
        part = random.Random(0).sample(examples, min(count, len(examples)))
        print(task, json.dumps(quality(model, heads, task, part, limit)), flush=True)


if __name__ == "__main__":
    main()
