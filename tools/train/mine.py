"""Of many passages, alone and with an attack or a harmless request in them, those that a head of jailbreak judges worst:
what its successor learns most from. Attacks drown, and harmless prose is taken for one, in few of them; those chosen by
chance hardly teach it after a while.

usage: mine.py --data DATA --model attacks/jailbreak OUT.jsonl [--count 40000] [--keep 4000]"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import corpus


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", type=Path, required=True, help="directory of the public sets")
    args.add_argument("--model", required=True, help="directory of the head")
    args.add_argument("--program", default="build/release/signalbox")
    args.add_argument("--count", type=int, default=40_000, help="passages alone, and as many with a request")
    args.add_argument("--keep", type=int, default=4000, help="how many of each label")
    args.add_argument("--seed", type=int, default=7)
    args.add_argument("out", type=Path)
    args = args.parse_args()
    requests = corpus.asked(args.data)
    requests *= args.count // len(requests) + 1
    rows = [(text, label) for text, label, _ in corpus.in_prose(args.data, requests, args.count, args.seed)
            if text.strip()]
    right = scores(args.program, args.model, rows)
    with args.out.open("w", encoding="utf-8") as out:
        for label in corpus.LABELS["jailbreak"]:
            worst = sorted((i for i, row in enumerate(rows) if row[1] == label), key=lambda i: right[i])[: args.keep]
            print(f"{label}: up to {right[worst[-1]]:.4f} for its own class")
            out.writelines(json.dumps({"text": rows[i][0], "label": label}) + "\n" for i in worst)


def scores(program, model, rows):
    """The probability of each one's label; half of them in each of two processes."""
    out = [0.0] * len(rows)
    with tempfile.TemporaryDirectory() as directory:
        runs = []
        for half in (0, 1):
            asked = Path(directory) / f"texts{half}"
            asked.write_text("".join(json.dumps({"text": text}) + "\n" for text, _ in rows[half::2]), encoding="utf-8")
            runs.append(subprocess.Popen([program, "classify", "--model", model, "--dtype", "int8"], stdin=asked.open(),
                                         stdout=(Path(directory) / f"scores{half}").open("w")))
        for half, run in enumerate(runs):
            if run.wait() != 0:
                raise SystemExit(f"{program} classify ended with {run.returncode}")
            for i, line in enumerate((Path(directory) / f"scores{half}").open()):
                out[half + 2 * i] = json.loads(line)["scores"][rows[half + 2 * i][1]]
    return out


if __name__ == "__main__":
    main()
