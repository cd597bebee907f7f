#!/usr/bin/env python3
# Measures how often a jailbreak verdict of a running daemon changes if 30 KB of prose surround the text, or if benign
# words are appended to it. The prose comes from this project's documents or from the files of --prose, without the
# paragraphs that quote attacks, because those are not harmless.
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
    args = argparse.ArgumentParser(description="see the comment at the top of this file")
    args.add_argument("--url", default="http://localhost:8080")
    args.add_argument("--count", type=int, default=100, help="texts per label and file")
    args.add_argument("--prose", action="append", type=Path, help="a file with prose; repeatable")
    args.add_argument("files", nargs="+", type=Path)
    args = args.parse_args()
    sources = args.prose or sorted(Path(__file__).resolve().parents[2].glob("docs/*.md"))
    documents = "\n\n".join(p.read_text(encoding="utf-8", errors="replace") for p in sources)
    prose = "\n\n".join(part for part in re.split(r"\n\s*\n", documents) if not QUOTES.search(part))
    if not prose:
        raise SystemExit("--prose: every paragraph quotes an attack (paragraphs end at empty lines)")
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
