"""Tokenizes texts with `signalbox tokenize`, the tokenizer that serves requests, so that training and inference always
agree."""

import json
import subprocess

CLS, SEP = 101, 102


def encode(program, tokenizer, examples):
    """Adds ids, offsets and segments to each example, without truncation. Offsets count code points of the token's own
    text and are (0, 0) for special tokens."""
    lines = "".join(json.dumps({"text": e["text"], "pair": e["pair"]} if e["pair"] is not None else
                               {"text": e["text"]}) + "\n" for e in examples)
    out = subprocess.run([program, "tokenize", "--tokenizer", tokenizer], input=lines, capture_output=True, check=True,
                         text=True).stdout
    for e, line in zip(examples, out.splitlines(), strict=True):
        row = json.loads(line)
        e["ids"], e["offsets"], e["segments"] = row["ids"], row["offsets"], row["type_ids"]


def tags(e, labels):
    """Returns one label per token: the tag for tokens of the labelled part (the pair if there is one), otherwise -100. The
    first token of a span gets the B- tag."""
    judged = 0 if e["pair"] is None else 1
    out, opened = [], None
    for (begin, end), segment in zip(e["offsets"], e["segments"]):
        if begin == end or segment != judged:
            out.append(-100)
            continue
        span = next((s for s in e["spans"] if begin < s[2] and s[1] < end), None)
        if span is None:
            out.append(0)
        elif span[0] is None:
            out.append(-100)
        elif span[0] in labels:
            out.append(labels.index(span[0]))
        else:
            out.append(labels.index(("I-" if span is opened else "B-") + span[0]))
        opened = span
    return out


def trainable(e, labels):
    """Returns what training needs of an encoded example."""
    return {"task": e["task"], "ids": e["ids"], "segments": e["segments"] if e["pair"] is not None else None,
            "tags": tags(e, labels) if e["spans"] is not None else None, "label": e["label"], "held_out": e["held_out"],
            "origin": e["origin"]}


def crop(e, limit, random):
    """Returns (ids, segments, tags or None) with at most `limit` tokens. A single text is cut to a window, in half of the
    cases the first, because long texts are served in windows. Both texts of a pair are truncated on the right, the first
    one to no less than a quarter of the limit."""
    ids, segments, marks = e["ids"], e["segments"], e["tags"]
    if len(ids) <= limit:
        return ids, segments, marks
    if segments is None:
        room = limit - 2
        begin = 1 if random.random() < 0.5 else random.randint(1, len(ids) - 1 - room)
        keep = slice(begin, begin + room)
        around = lambda inner, edge: [edge] + inner[keep] + [edge]
        return [CLS] + ids[keep] + [SEP], None, None if marks is None else around(marks, -100)
    first = segments.index(1)
    keep_first = max(limit - (len(ids) - first), limit // 4)
    index = (list(range(keep_first - 1)) + [first - 1] + list(range(first, len(ids))))[:limit]
    pick = lambda values: None if values is None else [values[i] for i in index]
    return pick(ids), pick(segments), pick(marks)
