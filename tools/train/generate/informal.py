#!/usr/bin/env python3
# Training data for the personal data tagger: informal writing, such as posts, chats, reviews, headlines and captions.
"""Prints {"text", "entities": [{"type", "start", "end", "value"}], "kind"} lines. Offsets count code points; the end is
exclusive; entities are sorted and do not overlap. The same options and seed give the same bytes.

The templates are in words/informal.txt. [marked] and [foreign] are lists of templates with entities, [plain] is a list of
templates without any. `[[slot]]` in a template stands for a value, and `[[slot:key]]` for the same value wherever the
key occurs again. A "#" before a slot makes the value a hashtag; the "#" does not belong to the entity. @handles are not
entities.

The extent of a span follows pii.py with two exceptions, because public sets of posts are annotated so: clubs, bands and
broadcasters are ORGANIZATION, and the whole name of a university is one ORGANIZATION.

Each --names file of first names, last names, companies or cities contains lines of a locale, a tab, and a name. Without
these files, all such values come from words/pii_places.txt and words/pii_words.txt."""

import re

import common
from pii_values import Values

SLOTS = {
    "PERSON": "name person first last surname famous nick",
    "GPE": "city country state region short_city",
    "ORGANIZATION": "club band tv tech shop uni party airline company agency game_maker paper",
    "TITLE": "title",
    "NRP": "nrp",
    "DATE_TIME": "date year weekday",
    "STREET_ADDRESS": "street",
    "DOMAIN_NAME": "link",
}
TYPE_OF = {slot: kind for kind, slots in SLOTS.items() for slot in slots.split()}
NATIVE = re.compile(r"[A-Za-z\u00c0-\u024f]")
SHORT = {"you": "u", "are": "r", "because": "cuz", "please": "pls", "people": "ppl", "thanks": "thx", "your": "ur",
         "tomorrow": "tmrw", "tonight": "2nite", "with": "w/", "going to": "gonna", "really": "rly", "though": "tho",
         "and": "&"}
LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789"
MONTHS = "Jan Feb March April May June July Aug Sept Oct Nov Dec".split()
HANDLE_ENDS = ("_", "_x", "_xo", "_uk", "_fan", "_tv", "_live")


class Names:
    """Names of one kind by locale. Half of the names come from locales that write English, German or another language of
    the most frequent posts, so that no large list of a small locale dominates."""

    def __init__(self, rng, lines):
        self.rng, self.locales = rng, {}
        for number, line in enumerate(lines, 1):
            locale, tab, name = line.partition("\t")
            if not tab:
                raise ValueError(f"line {number} of a file of names has no tab: {line!r}")
            if re.search(r"[^\W\d_]", name) and not re.search(r"[\d()\[\]{}]", name) and 1 < len(name) < 40:
                self.locales.setdefault(locale, []).append(name)
        self.latin = [key for key, names in self.locales.items() if NATIVE.match(names[0])]
        self.english = [key for key in self.latin if key.startswith("en")] or self.latin

    def locale(self):
        roll = self.rng.random()
        return self.rng.choice(self.english if roll < 0.45 else self.latin if roll < 0.95 else list(self.locales))

    def pick(self, locale=None):
        return self.rng.choice(self.locales[locale if locale in self.locales else self.locale()])


class Maker:
    """Makes rows. About 60 % of them contain names, places or organisations."""

    def __init__(self, rng, first, last, companies, cities):
        self.rng = rng
        self.grammar = common.Grammar(rng, "informal")
        self.values = Values(rng)
        self.first_names, self.last_names, self.companies, self.cities = (
            Names(rng, lines) if lines else None for lines in (first, last, companies, cities))

    def row(self):
        kind = self.rng.choices(("marked", "foreign", "plain"), (50, 5, 45))[0]
        template = self.grammar.make(kind)
        if self.rng.random() < 0.15 and kind != "foreign":  # a post of two thoughts
            template = template.rstrip(" .!") + self.rng.choice((". ", " ", "... ", "! ", " - ", "\n")) + self.grammar.make(
                self.rng.choice(("marked", "plain")))
        pieces = self.decorate(self.fill(template), kind)
        pieces = self.styled(self.typed(pieces))
        text, entities = "", []
        for piece, type_ in pieces:
            if type_:
                entities.append({"type": type_, "start": len(text), "end": len(text) + len(piece), "value": piece})
            text += piece
        return {"text": text, "entities": entities, "kind": kind}

    # Values

    def fill(self, template):
        """Returns the text in pieces, each with its type or None."""
        pieces, kept, at = [], {}, 0
        for slot in re.finditer(r"(#?)\[\[(\w+)(?::(\w+))?\]\]", template):
            pieces.append((template[at:slot.start()] + slot[1], None))
            key = (slot[2], slot[3])
            value = kept.get(key) if slot[3] else None
            value = value or self.value(slot[2])
            if slot[3]:
                kept[key] = value
            if slot[1]:
                value = re.sub(r"\W", "", value.title() if " " in value else value)
            pieces.append((value, TYPE_OF.get(slot[2])))
            at = slot.end()
        return pieces + [(template[at:], None)]

    def value(self, slot):
        make = getattr(self, slot, None)
        return make() if make else self.grammar.make(slot)

    def name(self):
        if self.rng.random() < 0.25:
            return self.grammar.make("famous")
        return self.person()

    def person(self):
        """Returns a name that is composed. Templates use it where a text would be untrue of a famous person."""
        if not self.first_names or not self.last_names:
            place = self.values.place()
            return f"{self.values.first(place)} {self.values.last(place)}"
        locale = self.first_names.locale()
        return f"{self.first_names.pick(locale)} {self.last_names.pick(locale)}"

    def first(self):
        return self.first_names.pick() if self.first_names else self.values.first(self.values.place())

    def last(self):
        if self.rng.random() < 0.3:
            return self.grammar.make("famous").split(" ", 1)[-1]
        return self.surname()

    def surname(self):
        return self.last_names.pick() if self.last_names else self.values.last(self.values.place())

    def city(self):
        roll = self.rng.random()
        if roll < 0.5:
            return self.grammar.make("big_city")
        return self.cities.pick() if self.cities and roll < 0.8 else self.values.pick(self.values.place().cities)

    def country(self):
        return self.grammar.make("land") if self.rng.random() < 0.6 else self.values.country()

    def company(self):
        roll = self.rng.random()
        if roll < 0.45:
            return self.grammar.make("firm")
        return self.companies.pick() if self.companies and roll < 0.75 else self.values.word("company")

    def date(self):
        day, month = self.rng.randint(1, 28), self.rng.choice(MONTHS)
        return self.rng.choice((f"{day} {month}", f"{month} {day}", f"{month} {day}th" if day > 3 else f"{month} 1st",
                                f"{day}/{self.rng.randint(1, 12)}/{self.rng.randint(2009, 2026)}"))

    def year(self):
        return str(self.rng.randint(1975, 2027))

    def weekday(self):
        return self.rng.choice("Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mon Tues Fri Sat Sun".split())

    def nrp(self):
        return self.grammar.make("people")

    def street(self):
        return self.values.street_only(self.values.place())

    def link(self):
        code = "".join(self.rng.choices(LETTERS, k=self.rng.choice((7, 8, 10))))
        hosts = ("http://t.co/", "https://t.co/", "http://bit.ly/", "http://tinyurl.com/", "youtu.be/")
        return self.rng.choice(hosts) + code

    def handle(self):
        stem = self.rng.choice((self.grammar.make("handle_word"), self.first(), self.last()))
        stem = re.sub(r"[^A-Za-z]", "", stem) or "user"
        return "@" + self.rng.choice((stem, stem.lower(), f"{stem}{self.rng.randint(1, 99)}", "the" + stem,
                                      stem.lower() + self.rng.choice(HANDLE_ENDS), f"x{stem}x"))

    # Habits

    def decorate(self, pieces, kind):
        """Adds handles, links, tags and emoticons before and behind the text."""
        rng = self.rng
        before = rng.choices(("", "RT [[handle]]: ", "[[handle]] ", ".[[handle]] ", "[[handle]] [[handle]] "),
                             (68, 9, 17, 2, 4))[0]
        behind = rng.choices(("", " #[[tag]]", " [[link]]", " [[smile]]", " [[handle]]", " #[[tag]] #[[tag]]",
                              " [[link]] #[[tag]]", " via [[handle]]"), (54, 10, 10, 13, 5, 4, 2, 2))[0]
        if kind == "marked" and rng.random() < 0.06:
            behind += rng.choice((" #[[city]]", " #[[country]]", " #[[club]]", " #[[first]]"))
        return self.fill(before) + pieces + self.fill(behind)

    def typed(self, pieces):
        """Changes the words between the entities: short forms, lost marks, errors, and long vowels."""
        rng, out = self.rng, []
        slang, lose = rng.random() < 0.25, rng.random() < 0.3
        wrong = rng.randrange(len(pieces)) if rng.random() < 0.25 else None
        for place, (text, type_) in enumerate(pieces):
            if type_ is None and not text.startswith("@"):
                if slang:
                    text = re.sub(r"\b(" + "|".join(SHORT) + r")\b",
                                  lambda m: SHORT[m[0]] if rng.random() < 0.7 else m[0], text)
                if lose:
                    text = re.sub(r"[.,!](?=\s|$)", "", text) if rng.random() < 0.8 else text.replace("'", "")
                if place == wrong:
                    text = common.typo(rng, text)
                if rng.random() < 0.02:
                    text = re.sub(r"\b(so|no|please|love|good|yes)\b", lambda m: m[0] + m[0][-1] * rng.randint(2, 5), text)
            out.append((text, type_))
        return out

    def styled(self, pieces):
        """Applies one habit of capitals to the whole text, and separates the marks in a third of the texts."""
        case = self.rng.choices((str, str.lower, str.upper, headline), (60, 25, 6, 9))[0]
        spaced = self.rng.random() < 0.34
        joined_tags = self.rng.random() < 0.5
        pieces = [(text if type_ == "DOMAIN_NAME" or text.startswith("@") else case(text), type_)
                  for text, type_ in pieces]
        if spaced:
            pieces = [(text if type_ == "DOMAIN_NAME" else tokenized(text, joined_tags), type_)
                      for text, type_ in pieces]
        return trimmed(pieces, spaced)


def headline(text):
    return re.sub(r"(?<![\w'’#@])([a-z])(?=\w{3})", lambda m: m[1].upper(), text)


def tokenized(text, joined_tags):
    """Puts spaces around marks, as public sets of posts do."""
    text = re.sub(r"(?i)n't\b", lambda m: " " + m[0], text)
    text = re.sub(r"(?i)(?<=\w)'(?:s|m|re|ve|ll|d)\b", lambda m: " " + m[0], text)
    text = re.sub(r"(?i)^'(?:s|m|re|ve|ll|d)\b", lambda m: " " + m[0], text)
    text = re.sub(r"([.,!?;:\"()/…])(?=[\s.!?,\"()]|$)|(?<=\s)([\"(])(?=\w)|^([\"(,!?:;])(?=\w)", r" \g<0> ", text)
    text = re.sub(r"@(?=\w)" if joined_tags else r"[@#](?=\w|$)", r"\g<0> ", text)
    return re.sub(r" {2,}", " ", text)


def trimmed(pieces, spaced):
    """Moves white space out of entities, joins plain pieces, and removes white space at both ends and double spaces."""
    out = []
    for text, type_ in pieces:
        parts = [(text, None)]
        if type_ and text.strip():
            parts = [(text[:len(text) - len(text.lstrip())], None), (text.strip(), type_), (text[len(text.rstrip()):], None)]
        for part, kind in parts:
            if not part:
                continue
            if kind is None and out and out[-1][1] is None:
                out[-1] = (out[-1][0] + part, None)
            else:
                out.append((part, kind))
    out = [(re.sub(r" {2,}", " ", text), kind) if spaced and kind is None else (text, kind) for text, kind in out]
    if out and out[0][1] is None:
        out[0] = (out[0][0].lstrip(), None)
    if out and out[-1][1] is None:
        out[-1] = (out[-1][0].rstrip(), None)
    return out


def generator(rng, first=(), last=(), companies=(), cities=()):
    maker = Maker(rng, first, last, companies, cities)
    return lambda: row if (row := maker.row())["text"] else None


if __name__ == "__main__":
    common.main("Makes informal texts with their personal data.", generator,
                files=[(name, f"{name}: lines of a locale, a tab, and a name") for name in
                       ("first", "last", "companies", "cities")])
