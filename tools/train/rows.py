"""Writes the training texts of a task as lines for `signalbox fit`, or the held-out texts as lines for `signalbox eval`.

usage: rows.py TASK DATA [--held-out] [--origin NAME]... > rows.jsonl"""

import argparse
import json
from pathlib import Path

import corpus


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("task", choices=corpus.LABELS)
    args.add_argument("data", type=Path, help="directory of the public sets")
    args.add_argument("--held-out", action="store_true")
    args.add_argument("--origin", action="append", help="a set, by its origin in corpus.py; default: all sets")
    args = args.parse_args()
    for e in corpus.TASKS[args.task](args.data):
        if e["task"] == args.task and e["held_out"] == args.held_out and (not args.origin or e["origin"] in args.origin):
            print(json.dumps(row(e), ensure_ascii=False))


def row(example):
    if example["task"] in corpus.TOKEN_TASKS:
        entities = [{"type": kind, "start": begin, "end": end} for kind, begin, end in example["spans"] if kind]
        return {"text": example["text"], "entities": entities}
    pair = {"pair": example["pair"]} if example["pair"] is not None else {}
    return {"text": example["text"], **pair, "label": corpus.LABELS[example["task"]][example["label"]]}


if __name__ == "__main__":
    main()
