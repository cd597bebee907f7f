"""Helpers for reading a set."""

import hashlib
import json
import random


def held_out(text, share):
    """Returns whether a text is excluded from training. `share` of all texts are."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) < share * 2**32


def json_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def sample(items, count, seed=1):
    items = list(items)
    random.Random(seed).shuffle(items)
    return items[:count]


def everyday(data, count):
    """Returns short requests and questions in the style that people type."""
    texts = [row["text"] for row in json_lines(data / "intents_clinc150.jsonl")]
    texts += [row["text"] for row in json_lines(data / "intents_banking77.jsonl")]
    return sample(texts, count)
