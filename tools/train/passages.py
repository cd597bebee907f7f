"""Passages: harmless texts that are not requests, used alone or as surroundings of an attack.

They come from the public sets, from this project, and from the packages of a Debian 12 machine (README.md names them).
Three sources are never read here, so that they can measure how well training generalises: Perl's documentation, fortunes
that are held out by their hash, and the King James Bible."""

import functools
import glob
import gzip
import html
import itertools
import re
import subprocess
from pathlib import Path

from texts import everyday, held_out, json_lines, sample

ROOT = Path(__file__).resolve().parents[2]  # the project's root; its documents and code are passages, too
WRITTEN = Path(__file__).parent / "written" / "passages.jsonl"  # written by hand for this project
CHARS_MAX = 60_000  # per file

# (kind, files, number of files)
DEBIAN = [
    ("manual", "/usr/share/man/man1/*.gz", 150),
    ("manual", "/usr/share/man/man3/*.gz", 300),
    ("manual", "/usr/share/man/man5/*.gz", 40),
    ("manual", "/usr/share/man/man8/*.gz", 40),
    ("copyright", "/usr/share/doc/*/copyright", 300),
    ("licence", "/usr/share/common-licenses/*", 30),
    ("changelog", "/usr/share/doc/*/changelog*.gz", 120),
    ("text", "/usr/share/doc/**/*.txt*", 400),
    ("text", "/usr/share/doc/**/README*", 400),
    ("page", "/usr/share/doc/anarchism/html/*.html", 150),
    ("page", "/usr/share/doc/**/*.html", 500),
    ("help", "/usr/share/help/C/*/*.page", 150),
    ("code", "/usr/lib/python3.11/**/*.py", 200),
    ("code", "/usr/include/**/*.h", 150),
]
DICTIONARIES = ("gcide", "jargon", "devil", "foldoc")


def spread(paths, count, seed):
    """Picks the same number of files from every package, as far as it has enough."""
    of_package = {}
    for path in sample(sorted(paths), len(paths), seed):
        of_package.setdefault("/".join(path.split("/")[:5]), []).append(path)
    turns = itertools.zip_longest(*of_package.values())
    return list(itertools.islice((path for turn in turns for path in turn if path), count))


def read(path):
    opened = gzip.open if path.endswith((".gz", ".dz")) else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as file:
        return file.read(CHARS_MAX)


def manual(path, columns):
    text = subprocess.run(["man", "-P", "cat", path], capture_output=True, text=True, errors="replace",
                          env={"MANWIDTH": str(columns), "PATH": "/usr/bin:/bin"}).stdout
    return re.sub(r".\x08", "", text)


@functools.cache
def debian(rng_seed=1):
    """Returns {kind: texts} from this machine's packages. Packages that are not installed are skipped."""
    kinds = {}
    for kind, pattern, count in DEBIAN:
        for i, path in enumerate(spread(glob.glob(pattern, recursive=True), count, rng_seed)):
            if not Path(path).is_file():
                continue
            text = manual(path, (72, 80, 100)[i % 3]) if kind == "manual" else read(path)
            if kind in ("page", "help"):
                text = re.sub(r"<[^>]+>", " ", text)
            if i % 2:
                text = re.sub(r"[ \t]+", " ", text)
            kinds.setdefault(kind, []).append(text)
    for name in DICTIONARIES:
        path = Path(f"/usr/share/dictd/{name}.dict.dz")
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
                kinds.setdefault("dictionary", []).append(file.read(4_000_000))
    for path in sorted(glob.glob("/usr/share/games/fortunes/*.u8")):
        said = [text for text in read(path).split("\n%\n") if not held_out(text, 0.3)]
        kinds.setdefault("fortunes", []).append("\n".join(said))
    packages = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True).stdout[:8_000_000]
    kinds["packages"] = [re.sub(r"^(MD5|SHA|Filename|Size|Inst).*\n", "", packages, flags=re.M)]
    return {kind: [text for text in texts if len(text) > 300] for kind, texts in kinds.items()}


@functools.cache
def public(data):
    """Encyclopedic texts, contracts, mail, tables, code, documents and web pages; the three long ones come first."""
    more = data / "more"
    texts = []
    for name in ("FIN3.txt", "FIN5.txt", "wikigold.conll.txt"):
        lines = (more / "ner-extra" / name).read_text(encoding="utf-8", errors="replace").split("\n")
        texts.append(re.sub(r" ([.,;:)\]'’])", r"\1", " ".join(line.split(" ")[0] for line in lines)))
    for path in sorted((more / "bipia").glob("benchmark_*_train.jsonl")):
        for row in json_lines(path):
            texts += [row[key] if isinstance(row[key], str) else "\n".join(row[key])
                      for key in ("context", "code") if key in row]
    for path in sorted((more / "wice" / "data" / "entailment_retrieval").glob("*/*.jsonl")):
        pages = {" ".join(map(str, row["evidence"])) for row in json_lines(path)}
        texts += sorted(page for page in pages if not held_out(page, 0.3))
    texts += [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md"))]
    texts += [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("[ber]*/**/*.cc"))[::4]]
    return texts


TONGUES = ("ca", "cs", "da", "de", "el", "es", "fi", "fr", "gl", "hi", "hr", "hu", "id", "it", "ja", "ko", "lt", "lv", "nl", "pl", "pt",
           "pt_BR", "ro", "ru", "sl", "sr", "sv", "ta", "tr", "uk", "vi", "zh_CN", "zh_TW")
SAYINGS = {"brasil": "pt_BR", "de/*": "de", "es/*": "es", "italia": "it", "definizioni": "it", "leggi": "it", "formiche": "it", "pl/*": "pl",
           "cs": "cs", "cz": "cs", "sk": "sk"}


@functools.cache
def foreign():
    """Returns {language: texts} of other languages than English, from this machine's manuals, help pages, handbooks and
    sayings."""
    texts = {}
    for tongue in TONGUES:
        found = [roff(read(path)) for path in sample(sorted(glob.glob(f"/usr/share/man/{tongue}/man*/*.gz")), 60)]
        found += [markup(read(path)) for path in sample(sorted(glob.glob(f"/usr/share/help/{tongue}/*/*.page")), 120)]
        country = tongue.replace("_", "-") if "_" in tongue else tongue + "-*"
        pages = sorted(glob.glob(f"/usr/share/doc/debian-handbook/html/{country}/*.html"))
        found += [markup(read(path)) for path in sample(pages, 60)]
        texts[tongue] = found
    for name, tongue in SAYINGS.items():
        for path in sorted(glob.glob(f"/usr/share/games/fortunes/{name}")):
            if Path(path).is_file() and not path.endswith((".dat", ".u8")):
                texts.setdefault(tongue, []).append(read(path).replace("\n%\n", "\n"))
    texts = {tongue: [text for text in found if len(text) > 300] for tongue, found in texts.items()}
    return {tongue: found for tongue, found in texts.items() if found}


def roff(text):
    """Returns the prose of a manual's source."""
    lines = [line for line in text.split("\n") if line and line[0] not in ".'"]
    text = re.sub(r"\\\[u([0-9A-F]{4})\]", lambda mark: chr(int(mark[1], 16)), "\n".join(lines))
    return re.sub(r"\\f[BIRP]|\\[&/,|]|\\\(..|\\\[[^]]*\]", "", text).replace("\\-", "-")


def markup(text):
    """Returns the prose of a page of XML or HTML."""
    text = re.sub(r"(?s)<(info|head|script|style)\b.*?</\1>", " ", text)
    return re.sub(r"\s*\n\s*", "\n", html.unescape(re.sub(r"<[^>]+>", " ", text))).strip()


def listed(data, rng):
    """Texts that list many questions or requests, or that repeat a few sentences."""
    asked = [text for text in everyday(data, 12000) if not held_out(text, 0.1)]
    exams = [row["text"] for row in json_lines(data / "domain_mmlupro.jsonl")
             if not held_out(row["text"], 0.1)]
    said = [sentence for text in public(data) for sentence in re.split(r"(?<=[.!?])\s+", text[:20_000])
            if 15 < len(sentence) < 160]
    texts = [rng.choice(("\n", " ", ". ")).join(rng.sample(asked, 60)) for _ in range(200)]
    texts += ["\n\n".join(rng.sample(exams, 12)) for _ in range(150)]
    for _ in range(300):
        few = " ".join(rng.sample(said, rng.randint(1, 3)) + rng.sample(asked, rng.randint(0, 1)))
        texts.append((few + rng.choice((" ", "\n", "\n\n"))) * (1400 // len(few) + 2))
    return texts


class Cutter:
    """Cuts pieces from all passages. It picks the kind first, so that no kind dominates by its size."""

    def __init__(self, data, rng):
        self.rng = rng
        self.kinds = [public(data)] * 3 + [public(data)[:3], listed(data, rng)]
        self.kinds += [[row["text"] for row in json_lines(WRITTEN)]] * 2
        self.kinds += [texts for _, texts in sorted(debian().items()) if texts]

    def cut(self, length):
        text = self.rng.choice(self.rng.choice(self.kinds))
        begin = self.rng.randrange(max(1, len(text) - length))
        return text[begin : begin + length]
