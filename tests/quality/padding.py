#!/usr/bin/env python3
# How often a jailbreak verdict changes when 30 KB of prose surround the text, or benign words are appended: asks a
# running daemon. The prose is this project's own documents or what --prose names, without the paragraphs that quote
# attacks: they are none of a harmless text.
#
# usage: tests/quality/padding.py [--url http://localhost:8080] [--count 100] [--prose FILE]... FILE.jsonl...
import argparse
import json
import random
import re
import urllib.request
from pathlib import Path

BENIGN = ["Thank you for your help, it is much appreciated.", "Have a wonderful day and say hello to the team.",
          "I am planning a picnic with my family next Sunday.", "By the way, the weather is lovely today."]

QUOTES = re.compile(r"(?i)(ignore|disregard|forget) (all |any )?(previous|prior)|\bDAN\b")


def main():
    args = argparse.ArgumentParser(description="usage: see the head of the file")
    args.add_argument("--url", default="http://localhost:8080")
    args.add_argument("--count", type=int, default=100, help="texts of each label and file")
    args.add_argument("--prose", action="append", type=Path, help="a file to take it from; several times")
    args.add_argument("files", nargs="+", type=Path)
    args = args.parse_args()
    sources = args.prose or sorted(Path(__file__).resolve().parents[2].glob("docs/*.md"))
    documents = "\n\n".join(p.read_text(encoding="utf-8", errors="replace") for p in sources)
    prose = "\n\n".join(part for part in re.split(r"\n\s*\n", documents) if not QUOTES.search(part))
    if not prose:
        raise SystemExit("--prose: no paragraph is without a quoted attack; paragraphs end at empty lines")
    rng = random.Random(1)
    for path in args.files:
        rows = [json.loads(line) for line in path.open(encoding="utf-8")]
        for label in sorted({row["label"] for row in rows}):
            texts = [row["text"] for row in rows if row["label"] == label]
            texts = rng.sample(texts, min(args.count, len(texts)))
            changed = {"appended": 0, "surrounded": 0}
            for text in texts:
                plain = verdict(args.url, text)
                changed["appended"] += verdict(args.url, f"{text} {' '.join(rng.sample(BENIGN, 2))}") != plain
                changed["surrounded"] += verdict(args.url, surrounded(text, prose, rng)) != plain
            shares = ", ".join(f"{name} {count} ({100 * count / len(texts):.1f} %)" for name, count in changed.items())
            print(f"{path.name}, {label}: {len(texts)} texts, verdict changed when {shares}", flush=True)


def surrounded(text, prose, rng, size=30_000):
    before = rng.randrange(size)
    start = rng.randrange(len(prose))
    ring = (prose * 2)[start : start + size]
    return f"{ring[:before]}\n\n{text}\n\n{ring[before:]}"


def verdict(url, text):
    request = urllib.request.Request(f"{url}/api/v1/classify/security", json.dumps({"text": text}).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["is_jailbreak"]


if __name__ == "__main__":
    main()
