"""Averages two adapters, the later of which continued the training of the earlier. The average retains more of what both
learned than either alone (model soups; Wortsman et al., 2022). Heads that only LATER has are copied from it.

usage: average.py EARLIER LATER OUT [--share 0.4]"""

import argparse
import shutil
from pathlib import Path

import safetensors


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("earlier", type=Path)
    args.add_argument("later", type=Path)
    args.add_argument("out", type=Path, help="a new directory")
    args.add_argument("--share", type=float, default=0.4, help="weight of LATER in the average")
    args = args.parse_args()
    shutil.copytree(args.later, args.out, ignore=shutil.ignore_patterns("state.pt", "meeting"))
    for path in sorted(args.later.rglob("*.safetensors")):
        name = path.relative_to(args.later)
        later = safetensors.read(path)
        earlier = safetensors.read(args.earlier / name) if (args.earlier / name).exists() else {}
        if {k: v.shape for k, v in earlier.items()} != {k: v.shape for k, v in later.items()}:
            print(f"{name}: copied from the later adapter")
            continue
        kept = "float16" if name.name.startswith("adapter") else "float32"
        mixed = {key: (1 - args.share) * earlier[key] + args.share * later[key] for key in later}
        safetensors.write(args.out / name, {key: value.astype(kept) for key, value in mixed.items()})


if __name__ == "__main__":
    main()
