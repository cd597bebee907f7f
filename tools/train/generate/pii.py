#!/usr/bin/env python3
# Training data for the personal data tagger: generates texts with their entities from templates and word lists.
"""Prints {"text", "entities": [{"type", "start", "end", "value"}], "template"} lines. Offsets count code points; the end is
exclusive; entities are sorted and do not overlap. The same options and seed give the same bytes.

There are three kinds of texts: `sentences` (words/pii_sentences.txt), `surroundings` (prompts, chats, logs, code, JSON, letters;
words/pii_surroundings.txt) and `negatives` (words/pii_negatives.txt), in which nothing is marked.

The extent of a span follows presidio-research's synthetic sentences, so that a tagger learns a single convention:
- TITLE is a salutation or an occupation next to a PERSON and not part of it. "Princess Royal" in prose is not marked.
- STREET_ADDRESS is a whole address in running text, with its city, country, postal code and line breaks. On an
  envelope and in phrases such as "lives at 12 Mill Lane", the building number, the street, the unit and the postal code of
  the last line are separate STREET_ADDRESS spans, and city and country are GPE. ZIP_CODE occurs alone or in its own field.
- AGE is the number without "years old". DATE_TIME is a date, year, weekday or time stamp. Durations, "next week",
  "tomorrow", and "Friday night" without relation to a person are not marked. NRP is an adjective or a people.
- DOMAIN_NAME is a whole URL. In "University of Lund", only the town is marked. Bands, products and laws are not marked.

If every town or every mention of Newton counted as personal data, most everyday prompts would be flagged. The style of a
prompt therefore decides. Not marked: places, weekdays and first names in commands ("weather in oslo", "call anna");
countries, peoples, years, agencies and famous names in questions of general knowledge; ages in exam vignettes; the people
and firms of textbook exercises. Marked: the same things in statements about oneself or about named people ("my name is",
"I live in", records, notes, letters).

usage: pii.py --rows 12000 --seed 7 [--negatives 0.45] [--kinds sentences,surroundings,negatives] > out.jsonl
"""

import argparse
import json
import random
import sys

from pii_values import DAYS, MONTHS, WORDS, Values

KINDS = ("sentences", "surroundings", "negatives")
TYPES = {
    "PERSON": "name first last name_turned name_simple last_upper",
    "TITLE": "title title_short job",
    "STREET_ADDRESS": "address street street_only invented_street building unit unit_long zip_part",
    "GPE": "gpe city city_plain country state state_long",
    "ZIP_CODE": "zip",
    "ORGANIZATION": "org",
    "NRP": "nrp nrp_plural",
    "AGE": "age",
    "DATE_TIME": "date date_plain date_time stamp clf year weekday",
    "PHONE_NUMBER": "phone",
    "EMAIL_ADDRESS": "email",
    "DOMAIN_NAME": "url domain",
    "IP_ADDRESS": "ip",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "ssn",
    "US_DRIVER_LICENSE": "licence",
}
TYPE_OF = {slot: kind for kind, slots in TYPES.items() for slot in slots.split()}
LOWER, UPPER = str.lower, str.upper


def closing(text, start):
    """Returns the position of the "}}" that closes the "{{" at `start`."""
    depth, at = 0, start
    while at < len(text):
        if text.startswith("{{", at):
            depth, at = depth + 1, at + 2
        elif text.startswith("}}", at):
            depth, at = depth - 1, at + 2
            if depth == 0:
                return at - 2
        else:
            at += 1
    raise ValueError(f'template with an unclosed "{{{{": {text!r}')


def options(text):
    """Splits at each '|' outside inner braces."""
    parts, depth, begin, at = [], 0, 0, 0
    while at < len(text):
        if text[at:at + 2] in ("{{", "}}"):
            depth += 1 if text[at] == "{" else -1
            at += 2
            continue
        if text[at] == "|" and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
    return parts + [text[begin:]]


class Person:
    def __init__(self, values):
        self.place = values.place()
        self.first, self.last = values.first(self.place), values.last(self.place)


class Filler:
    """Fills the slots of one text. Slots with the same digit belong to the same person."""

    def __init__(self, values):
        self.values = values
        self.people = {}

    def person(self, digit):
        return self.people.setdefault(digit, Person(self.values)) if digit else Person(self.values)

    def fill(self, template):
        """Returns the text in pieces, each with its type or None."""
        pieces, at = [], 0
        while (start := template.find("{{", at)) >= 0:
            end = closing(template, start)
            pieces.append((template[at:start], None))
            content = template[start + 2:end]
            parts = options(content)
            pieces += self.fill(self.values.pick(parts)) if len(parts) > 1 else [self.slot(content)]
            at = end + 2
        return pieces + [(template[at:], None)]

    def slot(self, content):
        slot = content.lstrip("-")
        digit = slot[-1] if slot[-1].isdigit() and ":" not in slot and slot != "hex6" else ""
        slot = slot.removesuffix(digit)
        kind = None if content.startswith("-") else TYPE_OF.get(slot)
        return self.value(slot, self.person(digit)), kind

    def value(self, slot, person):
        v, place = self.values, person.place
        if slot.startswith("n:"):
            return str(v.number(*map(int, slot[2:].split("-"))))
        if slot.endswith("_lower"):
            return self.value(slot.removesuffix("_lower"), person).lower()
        if slot in ("name_simple", "city_plain"):
            base = "name" if slot == "name_simple" else "city"
            return self.value(base, person).replace("'", "").replace('"', "")
        if slot in ("city", "address", "street", "street_only", "zip", "phone", "state"):
            return getattr(v, slot)(place)
        simple = {
            "first": lambda: person.first,
            "last": lambda: person.last,
            "last_upper": lambda: person.last.upper(),
            "name": lambda: v.name(person.first, person.last),
            "name_turned": lambda: v.name_turned(person.first, person.last),
            "email": lambda: v.email(person.first, person.last),
            "zip_part": lambda: v.digits(5),
            "country": lambda: v.country_of(place) if v.chance(0.5) else v.country(),
            "state_long": lambda: v.pick(("California", "Texas", "Ohio", "Nevada", "Oregon", "Utah", "Georgia",
                                          "Maine")),
            "clf": lambda: (f"{v.number(1, 28):02d}/{v.pick(MONTHS)[:3]}/{v.number(2005, 2026)}:{v.number(0, 23):02d}:"
                            f"{v.number(0, 59):02d}:{v.number(0, 59):02d} +0000"),
            "weekday": lambda: v.pick(DAYS),
            "year_old": lambda: str(v.number(1066, 2019)),
            "code": lambda: v.word("language_code"),
            "hex6": lambda: "".join(v.pick("0123456789abcdef") for _ in range(6)),
            "uuid": lambda: "-".join("".join(v.pick("0123456789abcdef") for _ in range(n)) for n in (8, 4, 4, 4, 12)),
        }
        if slot in simple:
            return simple[slot]()
        if slot in v.words:
            return v.word(slot)
        return getattr(v, slot)()


def read_templates(kind):
    text = (WORDS / f"pii_{kind}.txt").read_text("utf-8")
    if kind == "surroundings":
        return text.split("\n", 1)[1].rstrip("\n").split("\n----\n")
    return [line.replace("\\n", "\n") for line in text.splitlines() if line and not line.startswith("# ")]


def cased(pieces, change):
    return [(change(text), kind) for text, kind in pieces]


def capitalised(pieces):
    """Capitalises the first letter of a text that starts with words of the template."""
    for i, (text, kind) in enumerate(pieces):
        if text:
            return pieces if kind else pieces[:i] + [(text[0].upper() + text[1:], None)] + pieces[i + 1:]
    return pieces


def joint(values, pieces):
    """Returns a separator between these pieces and the next sentence."""
    ended = "".join(text for text, _ in pieces)[-1] in ".!?:;"
    return values.pick((" ", " ", "\n") if ended else (". ", ". ", " ", "\n", "; "))


class Maker:
    """Makes rows. A template's number is its position within its kind plus 1000, 2000 or 3000."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = Values(self.random)
        self.templates = {kind: list(enumerate(read_templates(kind), 1000 * (i + 1))) for i, kind in enumerate(KINDS)}

    def pieces(self, kind):
        v = self.values
        number, template = v.pick(self.templates[kind])
        pieces = Filler(v).fill(template)
        if kind == "sentences":
            if v.chance(0.12):
                more = Filler(v).fill(v.pick(self.templates[kind])[1])
                pieces = pieces + [(joint(v, pieces), None)] + more
            elif v.chance(0.15):
                pieces = pieces + [(joint(v, pieces) + v.word("filler"), None)]
            elif v.chance(0.08):
                pieces = [(v.word("opening") + " ", None)] + pieces
            form = v.random.random()
            if form < 0.11:
                pieces = cased(pieces, LOWER)
            elif form < 0.13:
                pieces = cased(pieces, UPPER)
        elif kind == "surroundings":
            if v.chance(0.04):
                pieces = cased(pieces, LOWER)
        else:
            pieces = [(text, None) for text, _ in pieces]
            form = v.random.random()
            if form < 0.12:
                pieces = [(v.word("opening") + " ", None)] + pieces
            elif form < 0.20:
                pieces = pieces + [(joint(v, pieces) + v.word("filler"), None)]
            form = v.random.random()
            if form < 0.22:
                pieces = cased(pieces, LOWER)
            elif form < 0.42:
                pieces = capitalised(pieces)
            elif form < 0.44:
                pieces = cased(pieces, UPPER)
        return number, pieces

    def row(self, kind):
        number, pieces = self.pieces(kind)
        text, entities = "", []
        for piece, type_ in pieces:
            if type_:
                entities.append({"type": type_, "start": len(text), "end": len(text) + len(piece), "value": piece})
            text += piece
        return {"text": text, "entities": entities, "template": number}

    def rows(self, count, kinds, negatives):
        """Yields rows of the kinds in random order, without repeating a text while the templates yield new ones."""
        marked = [kind for kind in kinds if kind != "negatives"]
        share = 0.0 if "negatives" not in kinds else negatives if marked else 1.0
        seen = set()
        for _ in range(count):
            kind = "negatives" if self.values.chance(share) else self.values.pick(marked)
            for _ in range(50):
                row = self.row(kind)
                if row["text"] not in seen:
                    break
            seen.add(row["text"])
            yield row


def share(text):
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def kinds(text):
    names = text.split(",")
    if unknown := [name for name in names if name not in KINDS]:
        raise argparse.ArgumentTypeError(f"\"{unknown[0]}\" is not one of {', '.join(KINDS)}")
    return names


def main():
    parser = argparse.ArgumentParser(description="Prints training data for the tagger of personal data.")
    parser.add_argument("--rows", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--negatives", type=share, default=0.45, help="share of rows without marked entities")
    parser.add_argument("--kinds", type=kinds, default=list(KINDS), help=f"comma-separated list of {','.join(KINDS)}")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    for row in Maker(arguments.seed).rows(arguments.rows, arguments.kinds, arguments.negatives):
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
