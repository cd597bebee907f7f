#!/usr/bin/env python3
# Writes what training sees of one classification task as lines for `signalbox fit`: rows.py TASK DATA > rows.jsonl
import json
import sys
from pathlib import Path

import corpus


def main():
    task, data = sys.argv[1], Path(sys.argv[2])
    for e in corpus.TASKS[task](data):
        if e["task"] == task and not e["held_out"]:
            print(json.dumps({"text": e["text"], "label": corpus.LABELS[task][e["label"]]}, ensure_ascii=False))


if __name__ == "__main__":
    main()
