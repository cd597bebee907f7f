#!/usr/bin/env python3
# Prints a bill of materials as SPDX 2.3 in JSON: the program, and each Debian package whose libraries it loads, with the
# version, the source package and the checksums of the files. Header-only libraries are taken from docs/dependencies.md, which
# lists every dependency, and the contents of the dashboard's bundle from its package-lock.json.
#
# usage: tools/sbom.py VERSION PROGRAM LIBRARIES [SYSROOT]      LIBRARIES: a file with one path per line, all below SYSROOT
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    version, program, libraries = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]).read_text().split()
    sysroot = sys.argv[4] if len(sys.argv) > 4 else ""
    packages = {}
    for library, name in owners(libraries).items():
        packages.setdefault(name, []).append(library)
    compiled_in = {name: [] for name in build_dependencies() if name not in packages and is_header_only(name)}
    digest = sha256(program)
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"signalbox-{version}",
        "documentNamespace": f"https://signalbox.invalid/spdx/signalbox-{version}-{digest[:16]}",
        "creationInfo": {"created": created(), "creators": ["Tool: tools/sbom.py"]},
        "packages": [described("signalbox", version, "Apache-2.0", digest)],
        "relationships": [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package-signalbox")],
    }
    for how, found in (("DYNAMIC_LINK", packages), ("CONTAINS", compiled_in)):
        for name, files in sorted(found.items()):
            installed, source = query(name)
            entry = described(name, installed, "NOASSERTION")
            entry["sourceInfo"] = f"Debian source package {source}"
            entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                      "referenceLocator": f"pkg:deb/debian/{name}@{installed}"}]
            if files:
                entry["comment"] = "; ".join(f"{file.removeprefix(sysroot)} sha256:{sha256(file)}" for file in sorted(files))
            document["packages"].append(entry)
            document["relationships"].append(relation("SPDXRef-Package-signalbox", how, entry["SPDXID"]))
    for name, lock in sorted(bundled().items()):
        entry = described(name, lock["version"], lock.get("license", "NOASSERTION"))
        entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:npm/{name}@{lock['version']}"}]
        document["packages"].append(entry)
        document["relationships"].append(relation("SPDXRef-Package-signalbox", "CONTAINS", entry["SPDXID"]))
    print(json.dumps(document, indent=1, sort_keys=True))


def described(name, version, licence, digest=None):
    out = {"SPDXID": "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
           "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
           "copyrightText": "NOASSERTION"}
    if digest:
        out["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    return out


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def created():
    return datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def sha256(file):
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def owners(libraries):
    """Returns the Debian package of each file. dpkg may list a file under its old name, from before /lib became a link."""
    names = {}
    for library in libraries:
        real = os.path.realpath(library)
        names[library] = [library, real, real.replace("/usr/lib/", "/lib/"), library.replace("/usr/lib/", "/lib/")]
    run = subprocess.run(["dpkg-query", "--search", *sorted({name for all in names.values() for name in all})], capture_output=True, text=True)
    found = {path: package.split(":")[0].split(",")[0] for package, path in (line.split(": ", 1) for line in run.stdout.splitlines())}
    out = {library: next((found[name] for name in all if name in found), None) for library, all in names.items()}
    strays = [library for library, package in out.items() if package is None]
    if strays:
        sys.exit(f"tools/sbom.py: files of no Debian package: {' '.join(strays)}")
    return out


def query(name):
    run = subprocess.run(["dpkg-query", "--show", "--showformat", "${Version} ${source:Package}", name], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"tools/sbom.py: {name}: {run.stderr.strip()}")
    return run.stdout.split()


def build_dependencies():
    """Returns the libraries of the program that docs/dependencies.md lists."""
    text = (ROOT / "docs/dependencies.md").read_text()
    section = text[text.index("## The program"):text.index("## Building and testing")]
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def bundled():
    """Returns the packages in the dashboard's bundle, as its lock file pins them."""
    packages = json.loads((ROOT / "router/admin/dashboard/package-lock.json").read_text())["packages"]
    return {name: packages[f"node_modules/{name}"] for name in packages[""].get("dependencies", {})}


def is_header_only(name):
    files = subprocess.run(["dpkg-query", "--listfiles", name], capture_output=True, text=True).stdout.split()
    return not any(re.search(r"\.(so|a)$", file) for file in files)


if __name__ == "__main__":
    main()
