"""Shared code of the text generators: a small grammar over word lists, simulated typing habits, and the loop that prints
distinct rows as JSON Lines.

A word list is a text file in words/. `[name]` starts a list, each following line is one entry, `# ` starts a comment, and
`\\n` is a line break. In an entry, `{name}` stands for any entry of that list, `{a|b|}` for one of the alternatives,
`{name:key}` for the same choice wherever the key occurs again in the text, `{^name}` for a capitalised choice, and `{#2-9}`
for a number; `\\{` and `\\}` are literal braces. A list is used like a deck of cards: no entry is repeated before all have been
used, so rare wordings are as frequent as common ones. Equal seeds give equal bytes, because one random.Random makes all
random choices.
"""

import argparse
import json
import pathlib
import random
import re
import sys

WORDS = pathlib.Path(__file__).parent / "words"


def read_lists(*names):
    """Returns the lists of words/NAME.txt by name. A list must not occur in two files."""
    lists = {}
    for name in names:
        entries = None
        for number, line in enumerate((WORDS / f"{name}.txt").read_text("utf-8").split("\n"), 1):
            opened = re.fullmatch(r"\[([a-z_0-9 ]+)\]", line)
            if opened:
                if opened[1] in lists:
                    raise ValueError(f"{name}.txt:{number}: a second list [{opened[1]}]")
                entries = lists.setdefault(opened[1], [])
            elif line.strip() and not line.startswith("# "):
                if entries is None:
                    raise ValueError(f"{name}.txt:{number}: an entry before the first [list]")
                entries.append(line.replace("\\n", "\n"))
    return lists


def parse(text):
    """Parses an entry into a list of strings and alternatives, which are tuples (choices, whether capitalised)."""
    parts, end = _parse(text, 0, inside=False)
    if end != len(text):
        raise ValueError(f"a closing brace without an opening one: {text!r}")
    return parts[0]


def _parse(text, at, inside):
    choices, now, plain = [], [], []

    def close_plain():
        if plain:
            now.append("".join(plain))
            plain.clear()

    while at < len(text):
        c = text[at]
        if text[at:at + 2] in ("\\{", "\\}"):
            plain.append(text[at + 1])
            at += 2
        elif c == "{":
            close_plain()
            body, at = _parse(text, at + 1, inside=True)
            now.append(("choice", body))
        elif c == "}" and inside:
            close_plain()
            choices.append(now)
            return choices, at + 1
        elif c == "|" and inside:
            close_plain()
            choices.append(now)
            now = []
            at += 1
        elif c == "}":
            return [now], at
        else:
            plain.append(c)
            at += 1
    if inside:
        raise ValueError(f"an opening brace without a closing one: {text!r}")
    close_plain()
    choices.append(now)
    return choices, at


class Grammar:
    """Makes texts from lists. Not thread-safe."""

    def __init__(self, rng, *files, english=True):
        self.rng = rng
        self.english = english  # other languages join words by other rules, so their texts stay unchanged
        self.lists = read_lists(*files)
        self.decks = {}
        self.parsed = {}

    def pick(self, name):
        """Returns the next entry of a list, unexpanded."""
        deck = self.decks.get(name)
        if not deck:
            if name not in self.lists:
                raise KeyError(f"no word list [{name}]")
            deck = self.decks[name] = list(self.lists[name])
            self.rng.shuffle(deck)
        return deck.pop()

    def make(self, name, **given):
        """Makes a text from a list. The values in `given` replace the lists of the same names."""
        return self.expand(self.pick(name), **given)

    def expand(self, text, **given):
        if text not in self.parsed:
            self.parsed[text] = parse(text)
        made = self._build(self.parsed[text], given, {})
        return tidy(made) if self.english else made

    def _build(self, parts, given, kept):
        return "".join(p if isinstance(p, str) else self._choose(p[1], given, kept) for p in parts)

    def _choose(self, choices, given, kept):
        if len(choices) > 1:
            return self._build(self.rng.choice(choices), given, kept)
        if len(choices[0]) != 1 or not isinstance(choices[0][0], str):
            return self._build(choices[0], given, kept)
        name = choices[0][0]
        capital = name.startswith("^")
        name, _, key = name.removeprefix("^").partition(":")
        if name.startswith("#"):
            low, high = name[1:].split("-")
            value = str(self.rng.randint(int(low), int(high)))
            value = kept.setdefault((name, key), value) if key else value
        elif name in given:
            value = given[name]
        elif key and (name, key) in kept:
            value = kept[name, key]
        else:
            entry = self.pick(name)
            if entry not in self.parsed:
                self.parsed[entry] = parse(entry)
            value = self._build(self.parsed[entry], given, kept)
            if key:
                kept[name, key] = value
        return upper_first(value) if capital else value


def tidy(text):
    """Repairs the joints of a template: spaces before punctuation, double punctuation, and a or an."""
    text = re.sub(r"(?<=\w) +([.,?!;:])(?=\s|$)", r"\1", text)
    text = re.sub(r"(?<=[\w.,;:?!])  +(?=\w)", " ", text)
    text = re.sub(r"([?!.:])\.(?=\s|$)(?<!\.\.\.)", r"\1", text)
    text = re.sub(r"\b([Aa]) (?=[aeioAEIO]|[uU](?!ni|S|se|K))(?!one|once|eu|Eu)(?=[A-Za-z]{2})", r"\1n ", text)
    return re.sub(r"\b([Aa])n (?=[bcdfgjklmnpqrstvwyz])", r"\1 ", text)


def upper_first(text):
    return text[:1].upper() + text[1:]


def lower_first(text):
    """Makes the first letter lower case, unless the first word is an acronym or the pronoun I."""
    word = re.match(r"[\w']*", text)[0]
    return text if word[1:] != word[1:].lower() or re.match(r"I\b", word) else text[:1].lower() + text[1:]


def typo(rng, text):
    """Inserts one typing error inside a word: swapped, dropped or doubled letters."""
    spots = [m.start() for m in re.finditer(r"(?<=[a-z])[a-z](?=[a-z])", text)]
    if not spots:
        return text
    i = rng.choice(spots)
    return rng.choice([text[:i] + text[i + 1] + text[i] + text[i + 2:], text[:i] + text[i + 1:],
                       text[:i] + text[i] + text[i:]])


def typed(rng, text, much=1.0):
    """Returns the text as somebody in a hurry would type it: sometimes without capitals or a full stop, or with errors."""
    if rng.random() < 0.16 * much:
        text = text.lower()
    elif rng.random() < 0.10 * much:
        text = lower_first(text)
    if rng.random() < 0.18 * much:
        text = text.rstrip(".?!")
    if rng.random() < 0.06 * much:
        text = text.replace("'", "")
    for _ in range(3):
        if rng.random() < 0.08 * much:
            text = typo(rng, text)
    if rng.random() < 0.015 * much:
        text = text.upper()
    return text


def read_lines(path):
    return [line for line in pathlib.Path(path).read_text("utf-8").splitlines() if line.strip()]


def distinct_rows(make, rows, key="text"):
    """Yields rows of make() with distinct keys. Fails if the grammar cannot produce enough of them."""
    seen, misses = set(), 0
    while len(seen) < rows:
        row = make()
        if row is None or row[key] in seen:
            misses += 1
            if misses > 2000:
                raise RuntimeError(f"the grammar yields only {len(seen)} of {rows} distinct rows")
            continue
        misses = 0
        seen.add(row[key])
        yield row


def main(description, generator, rows=20000, files=(), key="text"):
    """Runs the command line of a generator. generator(rng) returns a function that makes one row per call. `files` are
    (option, help) of files with one entry per line, which are passed to the generator by name."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--rows", type=int, default=rows)
    options.add_argument("--seed", type=int, default=1)
    for option, use in files:
        options.add_argument(f"--{option}", type=read_lines, default=[], metavar="FILE", help=use)
    chosen = options.parse_args()
    make = generator(random.Random(chosen.seed), **{name: getattr(chosen, name) for name, _ in files})
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    for row in distinct_rows(make, chosen.rows, key):
        print(json.dumps(row, ensure_ascii=False))
