"""Invented facts with numbers, dates, units and names, used by nli_numbers and hallucination.

A fact is a kind with values for its slots. All wordings of a kind have the same meaning, and so do all forms of a value
(1,200 or 1200; 3 May 2014 or May 3, 2014; 1.5 km or 1,500 metres). Paraphrases are therefore faithful by construction, and
another value of a slot makes them false.
"""

import re

import common

KINDS = ("founded", "staff", "revenue", "bridge", "visitors", "born", "award", "job", "film", "match", "recipe",
         "trial", "weather", "train", "goods", "order", "species", "vote", "loan", "meeting")
NAMES = ("org", "person", "city", "building", "product", "title", "dish", "team", "role", "prize", "drug",
         "animal", "field")
# Slots that identify the subject of a fact. A change of one makes a different fact, which may be true as well.
SUBJECTS = {"founded": "org", "staff": "org city", "revenue": "org year", "bridge": "building",
            "visitors": "building year", "born": "person", "award": "person prize field",
            "job": "person org role", "film": "title", "match": "team team2 date", "recipe": "dish",
            "trial": "drug", "weather": "city date", "train": "city city2 time", "goods": "product",
            "order": "orderno", "species": "animal", "vote": "person city year", "loan": "org",
            "meeting": "person date"}
MONTHS = ("January February March April May June July August September October November December").split()
WORDS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
         "seventeen eighteen nineteen twenty").split()


def number_forms(n):
    forms = [f"{n:,}", str(n)] if n >= 1000 else [str(n)]
    return forms + [WORDS[n]] if 1 < n <= 20 else forms


def measured(text, *units):
    return [f"{text}{unit}" for unit in units]


def forms_of(kind, v):
    """Returns all ways to write a value of a kind of slot; all have the same meaning."""
    if kind in ("count", "small"):
        return number_forms(v)
    if kind == "percent":
        return measured(f"{v / 10:g}", "%", " per cent", " percent", " %")
    if kind == "money":
        return [f"${v / 10:g} million", f"{v / 10:g} million dollars", f"${v * 100_000:,}"]
    if kind == "price":
        return [f"${v}", f"{v} dollars", f"USD {v}"]
    if kind == "length":
        return [f"{v} metres", f"{v} m"] + ([f"{v / 1000:g} km", f"{v / 1000:g} kilometres"] if v >= 1000 else [])
    if kind == "weight":
        return [f"{v} kg", f"{v} kilograms"]
    if kind in ("temperature", "oven"):
        return [f"{v} °C", f"{v} degrees Celsius", f"{v}°C"]
    if kind == "duration":
        hours, rest = divmod(v, 60)
        hour = "1 hour" if hours == 1 else f"{hours} hours"
        split = [f"{hour} {rest} minutes", f"{hour} and {rest} minutes"] if rest else [hour]
        return [f"{v} minutes"] + (split if hours else [])
    if kind == "time":
        hour, minute = divmod(v, 60)
        return [f"{hour}:{minute:02}", f"{(hour - 1) % 12 + 1}:{minute:02} {'am' if hour < 12 else 'pm'}"]
    if kind == "date":
        day, month, year = v
        name = MONTHS[month - 1]
        return [f"{day} {name} {year}", f"{name} {day}, {year}", f"{year}-{month:02}-{day:02}"]
    if kind in ("weeks", "years", "hours"):
        return [f"{n} {kind}" for n in number_forms(v)]
    if kind == "score":
        return [f"{v[0]}-{v[1]}", f"{v[0]}:{v[1]}", f"{v[0]} to {v[1]}"]
    return [str(v)]


class Facts:
    def __init__(self, rng):
        self.rng = rng
        self.words = common.Grammar(rng, "facts")

    def value(self, slot):
        rng, kind = self.rng, slot.rstrip("2")
        if kind in NAMES:
            return self.words.make(kind)
        return {
            "year": lambda: rng.randint(1880, 2024),
            "count": lambda: rng.choice([rng.randint(12, 99), rng.randint(100, 999), rng.randint(10, 99) * 100,
                                         rng.randint(1001, 98000)]),
            "small": lambda: rng.randint(2, 24),
            "percent": lambda: rng.choice([rng.randint(1, 60) * 10, rng.randint(11, 640)]),
            "money": lambda: rng.randint(11, 990),
            "price": lambda: rng.randint(3, 99) * 10 - 1,
            "length": lambda: rng.choice([rng.randint(20, 950), rng.randint(10, 90) * 100]),
            "weight": lambda: rng.randint(2, 95),
            "temperature": lambda: rng.randint(-12, 41), "oven": lambda: rng.randint(14, 24) * 10,
            "duration": lambda: rng.choice([rng.randint(5, 58), rng.randint(13, 40) * 5]),
            "time": lambda: rng.randint(72, 275) * 5,
            "date": lambda: (rng.randint(1, 28), rng.randint(1, 12), rng.randint(1950, 2025)),
            "weeks": lambda: rng.randint(3, 60), "years": lambda: rng.randint(2, 40),
            "hours": lambda: rng.randint(4, 60),
            "score": lambda: (rng.randint(2, 7), rng.randint(0, 1)),
            "orderno": lambda: f"{rng.choice('ABCKQ')}{rng.randint(1000, 99999)}",
        }[kind]()

    def near(self, slot, value):
        """Returns a different value for the slot, often a close one."""
        rng, kind = self.rng, slot.rstrip("2")
        while True:
            other = self.value(slot)
            if isinstance(value, int) and rng.random() < 0.6:
                other = rng.choice([value + rng.randint(1, 9), value - rng.randint(1, 9), value * 10, value * 2,
                                    value + 100])
                low, high = {"year": (1850, 2025), "time": (360, 1430), "temperature": (-30, 50), "oven": (90, 280)}.get(kind, (2, 10**7))
                if not low <= other <= high:
                    continue
            elif kind == "date" and rng.random() < 0.7:
                other = list(value)
                part = rng.randrange(3)
                other[part] = other[part] + rng.choice([-2, -1, 1, 2, 5])
                other = tuple(other)
                if not (1 <= other[0] <= 28 and 1 <= other[1] <= 12):
                    continue
            elif kind == "score" and rng.random() < 0.5:
                other = (value[0], value[1] + 1)
            if other != value and (kind != "score" or other[0] > other[1]):
                return other

    def slots(self, kind):
        names = set()
        for entry in self.words.lists[kind]:
            names.update(re.findall(r"\{([a-z]+2?)\}", entry))
        return sorted(n for n in names if n.rstrip("2") in NAMES or n not in self.words.lists)

    def own(self, fact):
        """Returns the slots in which a wrong value contradicts the fact."""
        return [slot for slot in fact[1] if slot not in SUBJECTS[fact[0]].split()]

    def fact(self, kind, **known):
        """Makes a fact of a kind: values by slot. Values in `known` are kept."""
        values = {slot: known.get(slot, None) or self.value(slot) for slot in self.slots(kind)}
        while "city2" in values and values["city2"] == values["city"]:
            values["city2"] = self.value("city")
        while "team2" in values and values["team2"] == values["team"]:
            values["team2"] = self.value("team")
        return kind, values

    def facts(self, n):
        """Makes facts of different kinds, some of them about the same people and companies."""
        known, out = {}, []
        for kind in self.rng.sample(KINDS, n):
            keep = {k: v for k, v in known.items() if self.rng.random() < 0.6}
            out.append(self.fact(kind, **keep))
            for slot in ("org", "person", "building", "product"):
                if slot in out[-1][1]:
                    known[slot] = out[-1][1][slot]
        return out

    def say(self, fact, name=None, plain=False):
        """Words the fact. Returns the text and the positions of its values: {slot: (start, end)}."""
        kind, values = fact
        marks = {slot: f"\ue000{slot}\ue001" for slot in values}
        raw = self.words.make(name or kind, **marks)
        text, spans, end = "", {}, 0
        for m in re.finditer("\ue000(\\w+)\ue001", raw):
            text += raw[end:m.start()]
            form = values[m[1]] if isinstance(values[m[1]], Said) else self.form(m[1], values[m[1]], plain)
            if not text:
                form = common.upper_first(form)
            spans[m[1]] = (len(text), len(text) + len(form))
            text += form
            end = m.end()
        return text + raw[end:], spans

    def form(self, slot, value, plain):
        forms = forms_of(slot.rstrip("2"), value)
        return forms[0] if plain or self.rng.random() < 0.5 else self.rng.choice(forms)


class Said(str):
    """A value that is already worded ("more than 40")."""
