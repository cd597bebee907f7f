"""Trains one adapter with the heads of several tasks. See README.md.

Each batch belongs to one task, chosen in proportion to its weight, and contains texts of similar length. The loss is cross
entropy with slight label smoothing, except for heads that compare the scores of many parts, which use none. The optimiser
is AdamW with a learning rate that rises for a while and then falls to zero. Several processes (--workers) train on their own
batches and share their gradients; on two cores, this is twice as fast as two threads in one process.

With --teacher, a larger network that was trained on the same texts (--rank 0) scores each batch as well, and a part of the loss is
the distance to its scores (distillation; Hinton et al., 2015). With --screen, heads that read the first layers only learn to
recognise harmless texts."""

import argparse
import copy
import json
import lzma
import math
import queue
import random
import threading
import time
from pathlib import Path

import numpy as np
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


class Batch:
    """ids, segments and mask (texts, tokens), and the true labels, (texts) or (texts, tokens)."""

    def __init__(self, items, device="cpu"):
        length = max(len(item[0]) for item in items)
        shape = len(items), length if device == "cpu" else -(-length // 8) * 8  # kernels of accelerators want multiples of 8
        tagged = items[0][2] is not None
        ids, segments, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        truth = np.full(shape if tagged else shape[:1], -100, np.int64)
        for i, (of_text, of_segments, tags, label) in enumerate(items):
            ids[i, : len(of_text)] = of_text
            mask[i, : len(of_text)] = 1
            if of_segments is not None:
                segments[i, : len(of_text)] = of_segments
            if tagged:
                truth[i, : len(of_text)] = tags
            else:
                truth[i] = label
        self.ids, self.segments, self.mask, self.truth = (
            torch.from_numpy(array).to(device) for array in (ids, segments, mask, truth))


class Output:
    """The logits of a head for a batch, (texts, classes) or (texts, tokens, classes). `soft` are the logits that are
    compared with a teacher's where `counts` is true: those of each part, of each token, or of each text."""

    def __init__(self, logits, soft, counts):
        self.logits, self.soft, self.counts = logits.float(), soft.float(), counts


def outputs(model, heads, task, batch, after=()):
    """Returns the Output of the task's head, and the states after each number of layers in `after`."""
    device = batch.ids.device.type
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        states, early = model(batch.ids, batch.segments, batch.mask, after)
        if task in corpus.PART_TASKS:
            return of_parts(heads[task], F.dropout(states, 0.1, model.training), batch), early
        counts = batch.mask > 0
        if task not in corpus.TOKEN_TASKS:
            states, counts = trunk.pooled(states, batch.mask), batch.truth == batch.truth
        logits = heads[task](F.dropout(states, 0.1, model.training))
    return Output(logits, logits, counts), early


def of_parts(head, states, batch):
    logits, there = head.of_parts(states, batch.mask)
    return Output(head.strongest(logits.float(), there), logits, there)


def loss_of(task, output, truth, smoothing):
    """Returns the cross entropy, averaged over the labelled texts or tokens."""
    loss = F.cross_entropy(output.logits.flatten(0, -2), truth.flatten(), ignore_index=-100, reduction="sum",
                           label_smoothing=0 if task in corpus.PART_TASKS else smoothing)
    return loss / (truth != -100).sum().clamp(min=1)  # a window of a passage may have no labelled token


def distance_to(teacher, output):
    """Returns the divergence from the teacher's scores, averaged over what both score."""
    losses = F.kl_div(output.soft.log_softmax(-1), teacher.soft.log_softmax(-1), reduction="none", log_target=True).sum(-1)
    return (losses * output.counts).sum() / output.counts.sum()


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
        for at in range(0, len(examples), 64):
            part = examples[at : at + 64]
            batch = Batch([(*tokens.crop(e, limit, rng), e["label"]) for e in part], model.norm.weight.device)
            best = outputs(model, heads, task, batch)[0].logits.argmax(-1).cpu()
            for e, row, found in zip(part, batch.truth.cpu(), best):
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
    args.add_argument("--trunk", type=Path, required=True, help="model directory of all-MiniLM-L6-v2, or of a teacher's trunk")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--out", type=Path, required=True, help="directory of the adapter")
    args.add_argument("--init", type=Path, help="continue from this state file (state.pt) or adapter directory")
    args.add_argument("--mined", type=Path, help="output of mine.py, used for training as well")
    args.add_argument("--tokens", type=float, default=math.inf, help="number of tokens to train on")
    args.add_argument("--minutes", type=float, default=math.inf, help="time limit; the learning rate falls accordingly")
    args.add_argument("--batch", type=int, default=1536, help="tokens per batch")
    args.add_argument("--limit", type=int, default=192, help="maximum tokens per text")
    args.add_argument("--half", action="store_true", help="compute in bfloat16, without dropout in the trunk")
    args.add_argument("--examples", type=Path, help="read the examples from this file (.jsonl, .jsonl.xz), or write it if it does not exist")
    args.add_argument("--prepare", action="store_true", help="only write the examples")
    args.add_argument("--device", default="cpu", help="cpu or cuda")
    args.add_argument("--teacher", type=Path, help="the state (state.pt) of a network that was trained with --rank 0")
    args.add_argument("--teacher-trunk", type=Path, help="its model directory")
    args.add_argument("--teacher-share", type=float, default=0.5, help="part of the loss that is the distance to the teacher")
    args.add_argument("--screen", type=int, action="append", default=[], help="train a screen on this number of layers; repeatable")
    args.add_argument("--frozen", action="store_true", help="train the screens only, for the adapter of --init")
    args.add_argument("--rank", type=int, default=32, help="0: train all layers instead of an adapter")
    args.add_argument("--rate", type=float, default=1.2e-3)
    args.add_argument("--dropout", type=float, default=0.05)
    args.add_argument("--smoothing", type=float, default=0.03)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--workers", type=int, default=1, help="number of processes, with one thread each")
    parser, args = args, args.parse_args()
    if math.isinf(args.tokens) and math.isinf(args.minutes) and not args.prepare:
        parser.error("expected --tokens or --minutes, which end the training")
    if args.frozen and not (args.screen and args.init):
        parser.error("--frozen trains screens for an adapter, so it needs --screen and --init")
    if args.screen and args.half:
        parser.error("--half has no states of the first layers, which --screen needs")
    if (args.teacher is None) != (args.teacher_trunk is None):
        parser.error("--teacher and --teacher-trunk need each other")
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
    if args.prepare:
        return
    tasks = sorted({e["task"] for e in examples if not args.frozen or e["task"] in corpus.PART_TASKS})
    if not tasks:
        raise SystemExit(f"--frozen: no example is of the tasks {', '.join(corpus.PART_TASKS)}, whose texts a screen reads")
    train = {t: [e for e in examples if e["task"] == t and not e["held_out"]] for t in tasks}
    held = {t: [e for e in examples if e["task"] == t and e["held_out"]] for t in tasks}
    for t in tasks if worker == 0 else []:
        length = sum(min(len(e["ids"]), args.limit) for e in train[t])
        print(f"{t}: {len(train[t])} texts, {length} tokens, {len(held[t])} held out", flush=True)

    model, heads = network(args, tasks)
    teacher = read_teacher(args, tasks) if args.teacher else None
    if args.frozen:
        model.requires_grad_(False)
        judges = [heads[task] for task in tasks if task in corpus.PART_TASKS]
        heads = nn.ModuleDict({name: head for name, head in heads.items() if name.startswith("screen-")})
    of_trunk = [p for p in model.parameters() if p.requires_grad]
    learnt = of_trunk + list(heads.parameters())
    # New heads on a whole trunk need longer steps than the trunk.
    steps = [{"params": of_trunk, "times": 1}, {"params": list(heads.parameters()), "times": 1 if args.rank else 5}]
    optimiser = torch.optim.AdamW(steps, args.rate, weight_decay=0.01)
    streams = {t: Stream(train[t], args.batch, args.limit, args.seed + worker) for t in tasks}
    choose = random.Random(args.seed + worker)
    torch.manual_seed(args.seed + worker)  # for dropout; the initial weights are the same in all processes

    def next_batch():
        task = choose.choices(tasks, [weights.get(t, 0.15) for t in tasks])[0]
        return task, Batch(streams[task].next(), args.device)

    if args.device != "cpu":
        next_batch = ahead(next_batch)
    model.train()
    start, seen, step, running = time.time(), 0, 0, {}
    checks = 1
    done = 0.0
    while done < 1:
        rate = args.rate * min(done / 0.08, 1) * (0.5 + 0.5 * math.cos(math.pi * done))
        for group in optimiser.param_groups:
            group["lr"] = rate * group["times"]
        task, batch = next_batch()
        if args.frozen:
            loss = loss_of_frozen(model, judges, heads, batch, args.screen)
        else:
            loss = total_loss(model, heads, teacher, task, batch, args)
        loss.backward()
        seen, step = seen + batch.ids.numel() * args.workers, step + 1
        done = team.share(learnt, max(seen / args.tokens, (time.time() - start) / 60 / args.minutes))
        nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        running[task] = 0.98 * running.get(task, loss.detach()) + 0.02 * loss.detach()
        if step % 100 == 0 and worker == 0:
            losses = " ".join(f"{t} {v.item():.3f}" for t, v in sorted(running.items()))
            print(f"{done:.3f} {time.time() - start:.0f} s, {seen / (time.time() - start):.0f} tokens/s, {losses}",
                  flush=True)
        if done > checks * 0.25 and worker == 0:
            checks += 1
            if args.frozen:
                continue
            save(args, model, heads)
            report(model, heads, held, args.limit, 300)
    if args.frozen:
        for name, head in heads.items() if worker == 0 else []:
            export.write_head(args.out, name, head)
    elif worker == 0:
        save(args, model, heads)
        report(model, heads, held, args.limit, 10_000)
        if args.rank:
            ours = {t: [e for e in held[t] if not e["origin"].startswith("development")] for t in tasks}
            export.write(args.out, model, heads, ours, args)


def network(args, tasks):
    """Returns the trunk and its heads, as --init left them."""
    model = trunk.Trunk(args.trunk / "model.safetensors", args.rank, args.rank, args.dropout, args.half)
    for layers in args.screen:
        if not 1 <= layers < len(model.layers):
            raise SystemExit(f"--screen {layers}: expected 1 to {len(model.layers) - 1}, because the trunk has {len(model.layers)} layers")
    heads = nn.ModuleDict({t: new_head(t) for t in tasks})
    heads.update({f"screen-{layers}": trunk.StrongestPart(2) for layers in args.screen})
    if args.init:
        state = export.read(args.init) if args.init.is_dir() else torch.load(args.init, map_location="cpu")
        model.load_state_dict(state["adapter"], strict=False)
        heads.load_state_dict({k: v for k, v in state["heads"].items() if k.split(".")[0] in heads}, strict=False)
    return model.to(args.device), heads.to(args.device)


def read_teacher(args, tasks):
    of_teacher = copy.copy(args)
    of_teacher.trunk, of_teacher.init, of_teacher.rank, of_teacher.screen = args.teacher_trunk, args.teacher, 0, []
    model, heads = network(of_teacher, tasks)
    return model.eval(), heads.eval()


def total_loss(model, heads, teacher, task, batch, args):
    screens = args.screen if task in corpus.PART_TASKS else []
    output, early = outputs(model, heads, task, batch, screens)
    loss = loss_of(task, output, batch.truth, args.smoothing)
    if teacher:
        with torch.no_grad():
            goal = outputs(*teacher, task, batch)[0]
        loss = (1 - args.teacher_share) * loss + args.teacher_share * distance_to(goal, output)
    return loss + 0.2 * loss_of_screens(heads, early, batch, (batch.truth > 0).float()) if screens else loss


def loss_of_frozen(model, judges, screens, batch, layers):
    """Returns the loss of screens that learn what the judges, heads of all layers, find in the same text."""
    with torch.no_grad():
        states, early = model(batch.ids, batch.segments, batch.mask, layers)
        found = [of_parts(judge, states, batch).logits.softmax(-1)[:, 1] for judge in judges]
    return loss_of_screens(screens, early, batch, torch.stack(found).amax(0))


def loss_of_screens(heads, early, batch, attack):
    """Returns the loss of the screens. `attack` is the true probability of an attack in each text, (texts)."""
    truth = torch.stack((1 - attack, attack), -1)
    return sum(F.cross_entropy(of_parts(heads[f"screen-{layers}"], states, batch).logits, truth)
               for layers, states in early.items())


def ahead(make, count=8):
    """Returns a function that returns the results of make(). A thread makes the next ones while the device computes."""
    made = queue.Queue(count)

    def run():
        while True:
            made.put(make())

    threading.Thread(target=run, daemon=True).start()
    return made.get


def read_examples(args, sources):
    opened = lzma.open if args.examples and args.examples.suffix == ".xz" else open
    if args.examples and args.examples.exists():
        with opened(args.examples, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    examples = [e for source in sources if source in corpus.TASKS for e in corpus.TASKS[source](args.data)]
    tokens.encode(args.program, args.trunk / "tokenizer.json", examples)
    examples = [tokens.trainable(e, corpus.LABELS[e["task"]]) for e in examples]
    if args.examples:
        with opened(args.examples, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(e, separators=(",", ":")) + "\n" for e in examples)
    return examples


def save(args, model, heads):
    learnt = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    torch.save({"adapter": learnt, "heads": heads.state_dict()}, args.out / "state.pt")


def report(model, heads, held, limit, count):
    for task, examples in held.items():
        part = random.Random(0).sample(examples, min(count, len(examples)))
        print(task, json.dumps(quality(model, heads, task, part, limit)), flush=True)


if __name__ == "__main__":
    main()
