"""Collects the texts on which a head performs worst, because its successor learns most from them. After a while, random
texts hardly improve a head.

jailbreak: generates many passages, alone and with an attack or a harmless request in them, and keeps those in which the
head misses the attack or takes harmless prose for one.
pii: keeps everyday requests in which the head marks anything. They contain no personal data, except that a marked name may
be a real one, so training ignores the marked names.

usage: mine.py --data DATA --model attacks/jailbreak OUT.jsonl [--count 40000] [--keep 4000]
       mine.py --task pii --data DATA --model signals/pii OUT.jsonl"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import corpus


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--task", choices=("jailbreak", "pii"), default="jailbreak")
    args.add_argument("--data", type=Path, required=True, help="directory of the public sets")
    args.add_argument("--model", required=True, help="directory of the head")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--count", type=int, default=40_000, help="number of passages, and of passages with a request")
    args.add_argument("--keep", type=int, default=4000, help="texts to keep for each label")
    args.add_argument("--seed", type=int, default=7)
    args.add_argument("out", type=Path)
    args = args.parse_args()
    (passages if args.task == "jailbreak" else everyday)(args)


def passages(args):
    requests = corpus.asked(args.data)
    requests *= args.count // len(requests) + 1
    rows = [(text, label) for text, label, _ in corpus.in_prose(args.data, requests, args.count, args.seed)
            if text.strip()]
    right = scores(args.program, args.model, rows)
    with args.out.open("w", encoding="utf-8") as out:
        for label in corpus.LABELS["jailbreak"]:
            worst = sorted((i for i, row in enumerate(rows) if row[1] == label), key=lambda i: right[i])[: args.keep]
            print(f"{label}: the kept texts score at most {right[worst[-1]]:.4f} for their own class")
            out.writelines(json.dumps({"text": rows[i][0], "label": label}) + "\n" for i in worst)


def everyday(args):
    texts = list(dict.fromkeys(e["text"] for e in corpus.pii_texts(args.data)
                               if e["origin"] == "everyday" and not e["held_out"]))
    kept = 0
    with args.out.open("w", encoding="utf-8") as out:
        for text, answer in zip(texts, answers(args.program, "tag", args.model, texts)):
            marks = [e for e in answer["entities"] if e["score"] >= 0.4]
            if marks:
                names = [[None, e["start"], e["end"]] for e in marks if e["type"] == "PERSON"]
                out.write(json.dumps({"text": text, "spans": names}) + "\n")
                kept += 1
    print(f"kept {kept} of {len(texts)} everyday requests")


def scores(program, model, rows):
    """Returns the probability of each row's label."""
    found = answers(program, "classify", model, [text for text, _ in rows])
    return [answer["scores"][label] for answer, (_, label) in zip(found, rows)]


def answers(program, command, model, texts):
    """Runs the program on the texts, half of them in each of two processes, and returns its answers."""
    out = [None] * len(texts)
    with tempfile.TemporaryDirectory() as directory:
        runs = []
        for half in (0, 1):
            asked = Path(directory) / f"texts{half}"
            asked.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[half::2]), encoding="utf-8")
            runs.append(subprocess.Popen([program, command, "--model", model, "--dtype", "int8"], stdin=asked.open(),
                                         stdout=(Path(directory) / f"answers{half}").open("w")))
        for half, run in enumerate(runs):
            if run.wait() != 0:
                raise SystemExit(f"{program} {command} ended with {run.returncode}")
            out[half::2] = [json.loads(line) for line in (Path(directory) / f"answers{half}").open()]
    return out


if __name__ == "__main__":
    main()
