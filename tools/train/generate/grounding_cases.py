#!/usr/bin/env python3
# Generates answers about invented contexts. Their numbers are either worded differently or invented.
#
#     grounding_cases.py --seed 1 --count 1000 > cases.jsonl
#
# Half of the lines are {"context", "question", "answer", "faithful": true}. The others have "faithful": false, "start" and
# "end" (code points of the answer) of the number that the context does not contain, and "form", how the number is written.
# The generator shares no code with the checker and spells numbers by its own rules, so that each reveals omissions of the
# other.

import argparse
import json
import random

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen").split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
MONTHS = ("January February March April May June July August September October November December").split()
ORDINALS = ("_ first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth").split()


def spell(n):
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + ("-" + ONES[n % 10] if n % 10 else "")
    if n < 1000:
        rest = " and " + spell(n % 100) if n % 100 else ""
        return ONES[n // 100] + " hundred" + rest
    for size, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if n >= size:
            rest = n % size
            return spell(n // size) + " " + name + (" " + spell(rest) if rest else "")
    raise ValueError(n)


def tidy(x):
    return f"{x:.4f}".rstrip("0").rstrip(".")


def suffix(n):
    if 10 <= n % 100 <= 20:
        return f"{n}th"
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


# The kinds of facts. Each defines how a fact is drawn, how contexts and answers write it, and what a wrong one looks like.
class Count:
    def __init__(self, r):
        self.n = r.choice([r.randint(3, 30), r.randint(20, 400), r.randint(400, 9999), r.randint(10000, 900000)])

    def context(self, r):
        return f"{self.n:,}" if r.random() < 0.8 or self.n > 99 else spell(self.n)

    def forms(self, r):
        n = self.n
        out = [("digits", str(n)), ("commas", f"{n:,}")]
        if n < 100 or n % 100 == 0 and n < 100000:
            out += [("words", spell(n))] * 2
        if n == 12:
            out.append(("dozen", "a dozen"))
        if n % 12 == 0 and 24 <= n <= 60:
            out.append(("dozens", f"{spell(n // 12)} dozen"))
        if n > 1000:
            size = 10 ** (len(str(n)) - 2)
            near = round(n / size) * size
            if near != n:
                out.append(("about", f"{r.choice(['about', 'around', 'roughly', 'approximately'])} {near:,}"))
            if near > n:
                out.append(("nearly", f"{r.choice(['nearly', 'almost', 'just under'])} {near:,}"))
            if near < n:
                out.append(("over", f"{r.choice(['over', 'more than', 'at least'])} {near:,}"))
        if n >= 10000 and n % 1000 == 0:
            out += [("thousands", f"{n // 1000} thousand"), ("k", f"{n // 1000}k")]
        return out

    def wrong(self, r):
        other = Count(r)
        lo, hi = max(3, int(self.n * 0.3)), max(8, int(self.n * 2.2))
        other.n = r.randint(lo, hi)
        return other

    def key(self):
        return float(self.n)


class Big(Count):
    def __init__(self, r):
        self.n = r.choice([r.randint(11, 999) * 100_000, r.randint(11, 99) * 100_000_000])

    def context(self, r):
        return r.choice([f"{self.n:,}", self.scaled()])

    def scaled(self):
        return f"{tidy(self.n / 1e6)} million" if self.n < 10**9 else f"{tidy(self.n / 1e9)} billion"

    def forms(self, r):
        out = [("commas", f"{self.n:,}"), ("million", self.scaled())]
        if self.n % 10**6 == 0 and self.n < 10**8:
            out.append(("million words", spell(self.n // 10**6) + " million"))
        return out

    def wrong(self, r):
        other = Big(r)
        other.n = max(1, round(self.n * r.choice([r.uniform(0.3, 0.85), r.uniform(1.2, 2.5)]) / 100_000)) * 100_000
        if other.n >= 10**9:
            other.n = other.n // 10**8 * 10**8
        return other


class Percent:
    def __init__(self, r, n=None):
        self.n = n if n is not None else r.choice([r.randint(2, 97), r.randint(20, 970) / 10, 25, 50, 75, 20, 10])

    def context(self, r):
        return tidy(self.n) + r.choice(["%", " %", " percent", " per cent"])

    def forms(self, r):
        n = self.n
        out = [("percent sign", f"{tidy(n)}%"), ("percent", f"{tidy(n)} percent"), ("per cent", f"{tidy(n)} per cent")]
        if n == int(n):
            out.append(("percent words", spell(int(n)) + " percent"))
        fractions = {50: "half", 25: "a quarter", 75: "three quarters", 20: "one fifth", 10: "a tenth", 40: "two fifths",
                     80: "four-fifths"}
        if n in fractions:
            out += [("fraction", fractions[n])] * 3
        ins = {25: "one in four", 20: "1 in 5", 10: "one in ten", 75: "three out of four", 50: "one in two"}
        if n in ins:
            out.append(("one in", ins[n]))
        if n != int(n) and n > 10:
            out.append(("about percent", f"about {round(n)}%"))
        return out

    def wrong(self, r):
        while True:
            other = Percent(r)
            if abs(other.n - self.n) > max(2, self.n * 0.08):
                return other

    def key(self):
        return float(self.n)


class Measure:
    KINDS = [  # names in a context, names of another unit in an answer, factor
        (["km", "kilometres", "kilometers"], ["m", "metres", "meters"], 1000),
        (["m", "metres", "meters"], ["cm", "centimetres"], 100),
        (["kg", "kilograms"], ["g", "grams"], 1000),
        (["tonnes"], ["kg", "kilograms"], 1000),
        (["litres", "liters"], ["ml", "millilitres"], 1000),
        (["hours"], ["minutes", "mins"], 60),
        (["minutes"], ["seconds"], 60),
        (["weeks"], ["days"], 7),
        (["years"], ["months"], 12),
        (["MW", "megawatts"], ["kW", "kilowatts"], 1000),
        (["GB", "gigabytes"], ["MB", "megabytes"], 1000),
        (["miles"], ["km", "kilometres"], 1.609344),
        (["feet", "ft"], ["m", "metres"], 0.3048),
        (["pounds"], ["kg", "kilograms"], 0.45359237),
        (["inches"], ["cm"], 2.54),
        (["acres"], ["hectares"], 0.40468564),
    ]

    def __init__(self, r, kind=None, n=None):
        self.kind = kind or r.choice(self.KINDS)
        self.n = n if n is not None else r.choice([r.randint(2, 40), r.randint(15, 120) / 10, r.randint(40, 900)])

    def context(self, r):
        return f"{tidy(self.n)} {r.choice(self.kind[0])}"

    def forms(self, r):
        here, there, factor = self.kind
        out = [("unit", f"{tidy(self.n)} {r.choice(here)}")] * 2
        if self.n == int(self.n) and self.n < 100:
            out.append(("unit words", f"{spell(int(self.n))} {here[-1]}"))
        far = self.n * factor
        if factor == int(factor):
            out.append(("converted", f"{int(round(far)):,} {r.choice(there)}"))
        else:
            out.append(("converted nearly", f"about {tidy(round(far, 1 if far < 100 else 0))} {r.choice(there)}"))
        return out

    def wrong(self, r):
        while True:
            other = Measure(r, self.kind)
            if abs(other.n - self.n) > self.n * 0.12 and other.n != self.n:
                return other

    def key(self):
        return float(self.n)


class Money:
    SIGNS = {"$": "dollars", "€": "euros", "£": "pounds"}

    def __init__(self, r, sign=None, n=None):
        self.sign = sign or r.choice(list(self.SIGNS))
        self.n = n or r.choice([r.randint(3, 99), r.randint(100, 9999), r.randint(11, 99) * 100_000,
                                r.randint(2, 900) * 1_000_000, r.randint(300, 9999) / 100])

    def context(self, r):
        if self.n >= 10**6:
            return f"{self.sign}{tidy(self.n / 1e6)} million"
        return f"{self.sign}{self.n:,.2f}" if self.n != int(self.n) else f"{self.sign}{self.n:,}"

    def forms(self, r):
        name = self.SIGNS[self.sign]
        if self.n >= 10**6:
            m = tidy(self.n / 1e6)
            return [("money m", f"{self.sign}{m} million"), ("money words", f"{m} million {name}"),
                    ("money digits", f"{self.sign}{int(self.n):,}"), ("money M", f"{self.sign}{m}M")]
        if self.n != int(self.n):
            return [("money cents", f"{self.sign}{self.n:,.2f}"), ("money name", f"{self.n:,.2f} {name}")]
        out = [("money sign", f"{self.sign}{int(self.n):,}"), ("money name", f"{int(self.n):,} {name}")]
        if self.n < 100:
            out.append(("money words", f"{spell(int(self.n))} {name}"))
        return out

    def wrong(self, r):
        while True:
            other = Money(r, self.sign)
            ratio = other.n / self.n
            if 0.1 < ratio < 10 and abs(ratio - 1) > 0.12:
                return other

    def key(self):
        return float(self.n)


class Day:
    def __init__(self, r):
        self.y, self.m, self.d = r.randint(1850, 2024), r.randint(1, 12), r.randint(1, 28)

    def full(self, r):
        month = MONTHS[self.m - 1]
        return [("date mdy", f"{month} {self.d}, {self.y}"), ("date dmy", f"{self.d} {month} {self.y}"),
                ("date iso", f"{self.y}-{self.m:02}-{self.d:02}"),
                ("date ordinal", f"the {suffix(self.d)} of {month} {self.y}"),
                ("date mdy ordinal", f"{month} {suffix(self.d)}, {self.y}"),
                ("date short", f"{month[:3]} {self.d}, {self.y}")]

    def context(self, r):
        return r.choice(self.full(r)[:2])[1]

    def forms(self, r):
        month = MONTHS[self.m - 1]
        return self.full(r) + [("date md", f"{month} {self.d}"), ("date my", f"{month} {self.y}")]

    def wrong(self, r):
        other = Day(r)
        part = r.choice("ymd")
        while getattr(other, "ymd"["ymd".index(part)]) == getattr(self, part):
            other = Day(r)
        for name in "ymd":
            if name != part:
                setattr(other, name, getattr(self, name))
        return other

    def key(self):
        return (self.y, self.m, self.d)


class Year:
    def __init__(self, r):
        self.y = r.randint(1700, 2024)

    def context(self, r):
        return str(self.y)

    def forms(self, r):
        decade = [("decade", f"the {self.y // 10 * 10}s")] if self.y % 100 >= 10 else []
        return [("year", str(self.y))] * 3 + decade

    def wrong(self, r):
        other = Year(r)
        while True:
            other.y = self.y + r.choice([-1, 1]) * r.randint(2, 60)
            if other.y // 10 != self.y // 10:
                return other

    def key(self):
        return float(self.y)


SUBJECTS = ["the museum", "the factory", "the festival", "the reservoir", "the company", "the school", "the new line",
            "the orchard", "the hospital", "the research station", "the cooperative", "the stadium", "the archive"]
# Sentence templates for each kind of fact: for a context, for an answer, and optionally whether a date's preposition is included.
SAYINGS = {
    Count: [("{S} employed {x} people", "It had {x} employees"), ("{S} owns {x} books", "The collection has {x} books"),
            ("Last season {s} welcomed {x} visitors", "There were {x} visitors last season"),
            ("{S} planted {x} trees", "{x} trees were planted"), ("A total of {x} tickets were sold", "They sold {x} tickets"),
            ("{S} received {x} applications", "Applications numbered {x}")],
    Big: [("{S} serves {x} people a year", "It serves {x} people each year"),
          ("Its records cover {x} objects", "Records exist for {x} objects"),
          ("{S} produced {x} bottles", "Output was {x} bottles")],
    Percent: [("{x} of the staff work part-time", "Part-time work is done by {x} of the staff"),
              ("Occupancy stood at {x}", "{x} of the places were taken"),
              ("In a survey {x} of respondents approved", "Approval came from {x} of respondents"),
              ("{x} of the budget goes to repairs", "Repairs take {x} of the budget")],
    Measure: None,
    Money: [("The works cost {x}", "The cost came to {x}"), ("{S} raised {x}", "Funding of {x} was raised"),
            ("A grant of {x} was paid", "They were paid {x} as a grant"), ("Repairs were estimated at {x}", "The estimate was {x}")],
    Day: [("{S} opened on {x}", "The opening was on {x}"), ("The contract was signed on {x}", "They signed the contract on {x}"),
          ("A fire broke out on {x}", "On {x} there was a fire")],
    Year: [("{S} was founded in {x}", "Its founding goes back to {x}"), ("{S} moved to its present site in {x}", "The move took place in {x}"),
           ("A second wing was added in {x}", "They added another wing in {x}")],
}
MEASURED = {0: ("The path is {x} long", "The length of the path is {x}"), 1: ("The tower is {x} high", "It rises {x}"),
            2: ("Each crate weighs {x}", "The weight of a crate is {x}"), 3: ("The bell weighs {x}", "The bell has a weight of {x}"),
            4: ("The tank holds {x}", "There is room for {x} in the tank"), 5: ("A tour lasts {x}", "Tours take {x}"),
            6: ("One cycle takes {x}", "A cycle runs for {x}"), 7: ("The course runs for {x}", "You study for {x}"),
            8: ("The lease ran for {x}", "It was leased for {x}"), 9: ("The turbines deliver {x}", "Output is {x}"),
            10: ("The archive takes {x}", "It fills {x}"), 11: ("The nearest town is {x} away", "It lies {x} from the nearest town"),
            12: ("The ceiling is {x} high", "The height of the ceiling is {x}"), 13: ("The largest stone weighs {x}", "The largest stone has {x}"),
            14: ("The plates are {x} wide", "Plates measure {x} across"), 15: ("The park covers {x}", "The park has an area of {x}")}
PLAIN = ["The staff are proud of its history.", "Entry is free for members.", "Visitors come from all over the region.",
         "Most of the work is done by volunteers.", "It is closed during storms.", "Critics praised the design.",
         "The archive keeps letters and drawings.", "Local schools use it often."]


def say(template, subject, x):
    text = template.replace("{S}", subject[0].upper() + subject[1:]).replace("{s}", subject)
    at = text.index("{x}")
    text = text.replace("{x}", x)
    if at == 0:
        text = text[0].upper() + text[1:]
    return text, at


def sayings_of(fact, r):
    if isinstance(fact, Measure):
        return MEASURED[Measure.KINDS.index(fact.kind)]
    return r.choice(SAYINGS[type(fact)])


def case(r, faithful):
    subject = r.choice(SUBJECTS)
    kinds = r.sample([Count, Big, Percent, Measure, Money, Day, Year, Count, Measure], r.randint(2, 6))
    facts = [(kind(r)) for kind in kinds]
    said = [(fact, sayings_of(fact, r)) for fact in facts]
    sentences = [say(s[0], subject, fact.context(r))[0] + "." for fact, s in said]
    sentences += r.sample(PLAIN, r.randint(1, 4))
    r.shuffle(sentences)
    context = " ".join(sentences)
    chosen = r.sample(said, r.randint(1, min(3, len(said))))
    wrong = None if faithful else r.randrange(len(chosen))
    answer, row = "", {}
    for i, (fact, (_, template)) in enumerate(chosen):
        meant = fact
        if i == wrong:
            taken = {f.key() for f in facts}
            meant = fact.wrong(r)
            while meant.key() in taken:
                meant = fact.wrong(r)
        forms = meant.forms(r)
        # A correct part of a date is not wrong, and neither is a rounded number that comes close.
        if i == wrong and isinstance(fact, Day):
            forms = meant.full(r)
        decades = [str(f.y)[:3] for f in facts if isinstance(f, (Day, Year))]
        if i == wrong and isinstance(fact, Year) and str(meant.y)[:3] in decades:
            forms = [("year", str(meant.y))]
        if i == wrong and isinstance(fact, Count):
            forms = [f for f in forms if f[0] not in ("over", "nearly")] if abs(meant.key() / fact.key() - 1) > 0.12 else [
                f for f in forms if f[0] in ("digits", "commas")]
        form, text = r.choice(forms)
        sentence, at = say(template, subject, text)
        if i == wrong:
            row = {"start": len(answer) + at, "end": len(answer) + at + len(text), "form": form}
        answer += sentence + ". "
    if not row:
        row = {"form": "faithful"}
    return {"context": context, "question": f"What can you tell me about {subject}?", "answer": answer.strip(),
            "faithful": faithful, **row}


def sums(r, faithful):
    """Makes totals, differences, spans of years and counts of lists."""
    kind = r.choice(["total", "difference", "years", "list", "age"])
    a, b = r.randint(30, 900), r.randint(30, 900)
    off = 0 if faithful else r.choice([-1, 1]) * r.randint(3, 25)
    if kind == "total":
        context = f"The first hall seats {a} guests. The second hall seats {b} guests."
        text, answer = str(a + b + off), "Together the two halls seat {} guests."
    elif kind == "difference":
        context = f"The north team scored {max(a, b)} points. The south team scored {min(a, b)} points."
        text, answer = str(abs(a - b) + off), "The north team was ahead by {} points."
        if abs(a - b) + off < 1:
            return sums(r, faithful)
    elif kind == "years":
        y, n = r.randint(1800, 1950), r.randint(20, 60)
        context = f"The mine opened in {y} and closed in {y + n}."
        text, answer = str(n + off), "The mine was in use for {} years."
        if n + off < 2:
            return sums(r, faithful)
    elif kind == "age":
        y, n = r.randint(1800, 1930), r.randint(40, 90)
        context = f"The painter was born on 3 May {y} and died on 7 June {y + n}."
        text, answer = str(n + off), "The painter lived for {} years."
    else:
        names = r.sample(["oak", "beech", "pine", "larch", "maple", "ash", "elm", "birch"], r.randint(3, 6))
        context = f"The orchard borders on woods of {', '.join(names[:-1])} and {names[-1]}."
        n = len(names) if faithful else len(names) + r.choice([2, 3, 4])
        text, answer = r.choice([str(n), spell(n)]), "The woods consist of {} kinds of tree."
    at = answer.index("{}")
    out = {"context": context, "question": "", "answer": answer.replace("{}", text), "faithful": faithful, "form": kind}
    if not faithful:
        out |= {"start": at, "end": at + len(text)}
    return out


def main():
    parser = argparse.ArgumentParser(description="Answers whose numbers are faithful, or made up.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    args = parser.parse_args()
    r = random.Random(args.seed)
    for i in range(args.count):
        make = sums if r.random() < 0.12 else case
        print(json.dumps(make(r, i % 2 == 0), ensure_ascii=False))


if __name__ == "__main__":
    main()
