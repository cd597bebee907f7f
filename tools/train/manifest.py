"""Prints the lines of weights/manifest.yaml for an adapter.

usage: manifest.py weights/adapters/NAME"""

import hashlib
import sys
from pathlib import Path


def main():
    adapter = Path(sys.argv[1])
    print(f"      - built-in: {adapter.name}\n        files:")
    for path in sorted(p for p in adapter.rglob("*") if p.suffix in (".json", ".safetensors")):
        name, data = path.relative_to(adapter), path.read_bytes()
        print(f"          - name: {name}\n            path: {name}\n            bytes: {len(data)}")
        print(f"            sha256: {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
