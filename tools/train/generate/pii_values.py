"""Values of personal data for pii.py: names, addresses, numbers with their check digits, dates, organisations.

One random.Random makes all choices, so a seed fixes the output. Words come from words/pii_places.txt (people, cities,
streets, postal codes and phone numbers by country) and words/pii_words.txt. Texts with several entities, such as the lines of
an envelope, are built from the slots of a template, not here."""

import pathlib
import re
import string
import unicodedata

WORDS = pathlib.Path(__file__).parent / "words"
PARTICLES = set("de De la La van Van von den der ten Ben El Abdel Dela Ó Ní".split())
MONTHS = ("January February March April May June July August September October November December").split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
IBAN_FORMS = {  # by country, the part after the check digits; # is a digit, @ a letter (ISO 13616 registry)
    "GB": "@@@@##############", "DE": "##################", "FR": "#######################", "NL": "@@@@##########",
    "ES": "####################", "IT": "@######################", "BE": "############", "AT": "################",
    "CH": "#################", "SE": "####################", "NO": "###########", "DK": "##############",
    "FI": "##############", "PL": "########################", "PT": "#####################", "IE": "@@@@##############",
    "CZ": "####################", "HU": "########################", "GR": "#######################",
    "EE": "################", "HR": "#################", "SI": "###############", "LT": "################",
    "TR": "######################", "IL": "###################", "SA": "####################",
    "RO": "@@@@################",
}
CARDS = (  # leading digits; length
    ("4", 16), ("4", 16), ("4", 13), ("4", 19), ("51", 16), ("53", 16), ("55", 16), ("2221", 16), ("2345", 16),
    ("2695", 16), ("34", 15), ("37", 15), ("6011", 16), ("65", 16), ("3528", 16), ("3566", 16), ("1800", 15),
    ("2131", 15), ("300", 14), ("305", 14), ("36", 14), ("38", 14), ("5018", 12), ("5038", 12), ("6304", 12),
    ("6763", 12), ("0604", 12), ("6200", 16),
)
LICENCES = (  # formats of US states' licence numbers
    "@#######", "#########", "########", "@############", "@##############", "#######", "@########", "###########",
    "@###-####-####", "@###-###-##-###-#", "##@@@#####", "@##-##-####", "############", "@@#######", "#########@@",
    "@@@**@@###@#", "####-##-####", "######", "@##########", "S########", "D###-####-####", "###-##-###", "##########",
)


def read_sections(path):
    """Returns the lines of each section by its name."""
    sections = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("[") and (match := re.match(r"\[(.+?)\](.*)", line)):
            lines = sections.setdefault(match[1], [])
            if match[2].strip():
                lines.append(match[2].strip())
        elif line and not line.startswith("# "):
            lines.append(line)
    return sections


def split_names(text):
    """Splits names at spaces; keeps a particle together with the word that follows it."""
    names, held = [], []
    for word in text.split():
        held.append(word)
        if word not in PARTICLES:
            names.append(" ".join(held))
            held = []
    return names


class Place:
    def __init__(self, name, lines):
        self.name = name
        self.code, self.nationality = lines[0].split(" ", 1)
        field = {line[0]: line[2:].strip() for line in lines[1:]}
        self.first, self.last = split_names(field["f"]), split_names(field["l"])
        self.cities = field["c"].split(", ")
        self.streets = field["s"].split(", ")
        self.order = field["o"]
        self.zips = [form.strip() for form in field["z"].split("|")]
        self.phones = [form.strip() for form in field["p"].split("|")]
        self.states = split_names(field["t"])


def luhn_digit(digits):
    """Returns the digit that, appended to `digits`, makes them pass the Luhn check."""
    total = 0
    for i, d in enumerate(reversed(digits)):
        d = int(d)
        total += d if i % 2 else d * 2 - 9 * (d > 4)
    return str(-total % 10)


def iban_check(country, rest):
    """Returns the two check digits of ISO 7064 mod 97-10."""
    number = "".join(str(int(c, 36)) for c in rest + country + "00")
    return f"{98 - int(number) % 97:02d}"


class Values:
    """Has one method per kind of value; each returns a string. `place` sets the country where it matters."""

    def __init__(self, random):
        self.random = random
        self.pick = random.choice
        self.places = [Place(name, lines) for name, lines in read_sections(WORDS / "pii_places.txt").items()]
        self.words = {kind: [w.strip() for line in lines for w in line.split(";")]
                      for kind, lines in read_sections(WORDS / "pii_words.txt").items()}

    def word(self, kind):
        return self.pick(self.words[kind])

    def chance(self, share):
        return self.random.random() < share

    def number(self, low, high):
        return self.random.randint(low, high)

    def shape(self, form):
        """Fills a format: # is a digit, @ a capital letter, * either."""
        draw = {"#": string.digits, "@": string.ascii_uppercase, "*": string.digits + string.ascii_uppercase}
        return "".join(self.pick(draw[c]) if c in draw else c for c in form)

    def digits(self, count):
        return self.shape("#" * count)

    def place(self):
        return self.pick(self.places)

    # People

    def first(self, place):
        return self.pick(place.first)

    def last(self, place):
        """Returns a last name; sometimes of another country, because people move, and rarely hyphenated."""
        source = self.place() if self.chance(0.12) else place
        name = self.pick(source.last)
        return f"{name}-{self.pick(place.last)}" if self.chance(0.03) else name

    def initial(self):
        return self.pick("ABCDEFGHIJKLMNOPRSTVW")

    def name(self, first, last):
        """Returns a full name in one of the usual forms."""
        form = self.random.random()
        if form < 0.70:
            return f"{first} {last}"
        if form < 0.78:
            return f"{first} {self.initial()}. {last}"
        if form < 0.86:
            return f"{first} {self.initial()} {last}"
        if form < 0.89:
            return f"{first[0]}. {last}"
        if form < 0.92:
            return f"{first} {self.first(self.place())} {last}"
        if form < 0.94:
            return f"{first} {last} {self.word('suffix')}"
        if form < 0.96:
            return f"{first.upper()} {last.upper()}"
        if form < 0.98:
            return f"{first} {last}".lower()
        return f"{first}  {last}"

    def name_turned(self, first, last):
        return self.pick((f"{last}, {first}", f"{last}, {first} {self.initial()}.", f"{last.upper()}, {first}"))

    def email(self, first, last, host=None):
        first, last = ascii_word(first), ascii_word(last)
        host = host or (self.site().lower() if self.chance(0.3) else self.word("mail_host"))
        local = self.pick((f"{first}{last}", f"{first}{last}", f"{first}.{last}", f"{first[:1]}{last}",
                           f"{first}_{last}",
                           f"{last}.{first}", f"{first}{self.number(1, 99)}", f"{first}-{last}",
                           f"{first}{self.initial()}{last}",
                           f"{first}.{last}+{self.pick(('news', 'bank', 'shop'))}"))
        return f"{local if self.chance(0.4) else local.lower()}@{host}"

    def username(self, first, last):
        return (ascii_word(first)[:1] + ascii_word(last)).lower()[:12]

    def job(self):
        job = self.word("job")
        return job[0].upper() + job[1:] if self.chance(0.6) else job

    def age(self):
        return str(self.number(18, 90) if self.chance(0.85) else self.number(1, 104))

    # Places

    def city(self, place):
        city = self.pick(place.cities)
        return city.upper() if self.chance(0.16) else city

    def country(self):
        return self.place().name if self.chance(0.55) else self.word("country")

    def country_of(self, place):
        return "Greenlander" if place.name == "Greenland" and self.chance(0.5) else place.name

    def gpe(self):
        return self.city(self.place()) if self.chance(0.5) else self.country()

    def zip(self, place):
        return self.shape(self.pick(place.zips))

    def state(self, place):
        return self.pick(place.states)

    def street(self, place):
        """Returns a street with its number, in the order usual in the country."""
        number = str(self.number(1, 240))
        if self.chance(0.08):
            number += self.pick(("A", "B", "c", "-" + str(self.number(2, 40)), " bis", "/2"))
        if self.chance(0.04):
            return f"P.O. Box {self.number(10, 999)}"
        return "".join({"s": self.pick(place.streets), "n": number}.get(c, c) if c in "sn" else c
                       for c in re.split(r"\b(s|n)\b", place.order))

    def street_only(self, place):
        return self.pick(place.streets)

    def invented_street(self):
        return f"{self.pick(self.place().last)} {self.word('street_tail')}"

    def building(self):
        return self.digits(self.number(2, 5))

    def unit(self):
        return self.pick((f"Apt. {self.digits(3)}", f"Suite {self.digits(3)}", f"Apt. {self.digits(3)}",
                          f"Suite {self.digits(3)}",
                          f"Apt {self.number(1, 40)}{self.pick('ABC')}", f"Unit {self.number(1, 60)}",
                          f"Flat {self.number(1, 30)}",
                          f"#{self.number(1, 900)}", f"Floor {self.number(1, 20)}"))

    def unit_long(self):
        return f"{self.pick(('Apt.', 'Suite'))} {self.digits(3)}"

    def military(self):
        region = self.pick(("AA", "AE", "AP"))
        return self.pick((f"PSC {self.digits(4)}, Box {self.digits(4)}\nAPO {region} {self.digits(5)}",
                          f"Unit {self.digits(4)} Box {self.digits(4)}\nDPO {region} {self.digits(5)}",
                          f"{self.word('ship')} {self.pick(self.place().last)}\nFPO {region} {self.digits(5)}"))

    def corner(self, place):
        """Returns a street corner; either street may be a bare name."""
        one = self.pick((self.street(place), self.street(place), self.street_only(place), self.first(place)))
        two = self.pick((self.street(self.place()), self.invented_street(), self.invented_street(),
                         self.street_only(place)))
        return f"{'the corner of ' if self.chance(0.6) else ''}{one} and {two}"

    def address_mixed(self, place):
        """Returns an address on one line with the number first, whatever the country, as generated addresses tend to look."""
        other = self.place()
        head = f"{self.building()} {self.street(place)}"
        if self.chance(0.15):
            head = f"{self.street(place)} {self.invented_street()}"
        city, state, code = self.city(other), self.state(other), self.digits(5)
        country = self.country_of(place) if self.chance(0.6) else self.country()
        unit = self.unit_long()
        return self.pick((
            f"{head} {unit}, {city}, {country} {code}", f"{head} {unit}, {city}, {country}",
            f"{head} {unit} {city} {state}", f"{head} {unit} {city} {country}",
            f"{head} {unit} {self.unit_long()}, {city}, {country} {code}",
            f"{head}, {city}, {country}", f"{head}\n{city}\n, {state}\n {code}",
            f"{head}\n{city}\n, {state}\n {country} {code}",
            f"{head} {unit}\n{city}\n, {state}\n {code}", f"{head} {unit}\n{city}, {state} {code}",
            f"{head}\n{city}, {state} {code}",
            f"{head}\n {unit}\n {city}\n {country} {code}", f"{head}\n {unit}\n {city}\n {country}",
            f"{head} {unit}\n{city}\n, {state}\n {country} {code}"))

    def address_local(self, place):
        """Returns an address in the form used on letters in that country."""
        street, city, code = self.street(place), self.city(place), self.zip(place)
        state, country = self.state(place), place.name
        if state == "nan":
            state = city
        unit = self.unit()
        if place.code in ("US", "AU", "CA"):
            return self.pick((f"{street}, {city}, {state} {code}", f"{street}, {unit}, {city}, {state} {code}",
                              f"{street}\n{city}, {state} {code}",
                              f"{street} {unit}\n{city}, {state} {code}", f"{street}, {city} {state}",
                              f"{street}, {city}, {state}",
                              f"{street}, {city}, {state} {code}, {country}",
                              f"{street}\n{unit}\n{city}, {state} {code}"))
        if place.code in ("GB", "IE", "NZ", "ZA", "IN", "NG", "KE"):
            return self.pick((f"{street}, {city} {code}", f"{street}, {city}, {code}",
                              f"{unit}, {street}, {city} {code}",
                              f"{street}\n{city}\n{code}", f"{unit}\n{street}\n{city} {code}\n{country}",
                              f"{street}, {city}"))
        return self.pick((f"{street}, {code} {city}", f"{street}, {code} {city}, {country}",
                          f"{street}\n{code} {city}", f"{street}, {city}",
                          f"{street}\n{code} {city}\n{country}", f"{street}, {unit}, {code} {city}",
                          f"{street} - {code} {city}", f"{street}, {city}, {country}"))

    def address(self, place):
        form = self.random.random()
        if form < 0.47:
            return self.address_mixed(place)
        if form < 0.84:
            return self.address_local(place)
        if form < 0.92:
            return self.corner(place)
        return self.military()

    # Organisations

    def org(self):
        form = self.random.random()
        last = lambda: self.pick(self.place().last)
        if form < 0.20:
            return self.word("company")
        if form < 0.46:
            stem = self.word("org_head") + self.word("org_tail")
            return stem + self.pick(("", "", "", " " + self.word("org_form"), " " + self.word("org_word")))
        if form < 0.60:
            name = f"{self.word('org_head')} {self.word('org_word')}"
            return name + self.pick(("", "", " " + self.word("org_form")))
        if form < 0.70:
            return f"{last()} {self.pick(self.words['org_form'])}"
        if form < 0.79:
            return f"{last()}-{last()}"
        if form < 0.87:
            return f"{last()}, {last()} and {last()}"
        if form < 0.92:
            return f"{last()} {self.word('org_word')}"
        if form < 0.95:
            return f"{last()} & {self.pick(('Sons', 'Daughters', 'Co.', 'Associates', last()))}"
        if form < 0.97:
            return self.pick((f"Bank of {self.pick(self.place().cities)}",
                              f"{self.pick(self.place().cities)} Medical Center",
                              f"{self.pick(self.place().cities)} United",
                              f"{self.number(2, 7)} {self.word('org_head')} {self.word('org_word')} Inc"))
        return self.word("org_public")

    # Numbers with check digits or fixed formats

    def card(self):
        prefix, length = self.pick(CARDS)
        body = prefix + self.digits(length - len(prefix) - 1)
        number = body + luhn_digit(body)
        form = self.random.random()
        if form < 0.68:
            return number
        separator = " " if form < 0.88 else "-"
        cuts = (4, 10) if length in (14, 15) else tuple(range(4, length, 4))
        return separator.join(number[a:b] for a, b in zip((0, *cuts), (*cuts, length)))

    def iban(self):
        country = "GB" if self.chance(0.35) else self.pick(list(IBAN_FORMS))
        rest = self.shape(IBAN_FORMS[country])
        iban = country + iban_check(country, rest) + rest
        form = self.random.random()
        if form < 0.75:
            return iban
        if form < 0.92:
            return " ".join(iban[i:i + 4] for i in range(0, len(iban), 4))
        return iban.lower()

    def ssn(self):
        area = self.pick([n for n in range(1, 900) if n != 666])
        parts = f"{area:03d}", f"{self.number(1, 99):02d}", f"{self.number(1, 9999):04d}"
        return self.pick(("-", "-", "-", "-", "-", " ", "")).join(parts)

    def licence(self):
        return self.shape(self.pick(LICENCES))

    def ip(self):
        if self.chance(0.72):
            return ".".join(str(self.number(1 if i == 0 else 0, 254)) for i in range(4))
        groups = [f"{self.number(0, 65535):x}" for _ in range(8)]
        if self.chance(0.35):
            return ":".join(groups[:self.number(2, 4)]) + "::" + ":".join(groups[:self.number(1, 2)])
        return ":".join(groups)

    def phone(self, place):
        return self.shape(self.pick(place.phones))

    def domain(self):
        name = self.site()
        return self.pick((name, name.lower(), "www." + name, "www." + name.lower()))

    def site(self):
        return f"{self.word('site_word')}{self.word('site_word')}.{self.word('tld')}"

    def url(self):
        site = self.site() if self.chance(0.6) else self.site().lower()
        return f"{self.pick(('http', 'https'))}://{self.pick(('www.', ''))}{site}{self.pick(('/', '/', ''))}"

    # Times

    def date(self):
        year, month, day = self.number(1930, 2027), self.number(1, 12), self.number(1, 28)
        name = MONTHS[month - 1]
        ordinal = str(day) + ("th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th"))
        return self.pick((f"{month}/{day}/{year}", f"{month}/{day}/{year}", f"{month}/{day}/{year}",
                          f"{year}-{month:02d}-{day:02d}",
                          f"{year}-{month:02d}-{day:02d}", f"{day:02d}.{month:02d}.{year}",
                          f"{day:02d}/{month:02d}/{year}",
                          f"{name} {day}, {year}", f"{name} {ordinal}, {year}", f"{day} {name} {year}",
                          f"{name[:3]} {day}, {year}",
                          f"{ordinal} of {name} {year}", f"{ordinal} {name} {year}", f"{name} {day}",
                          f"{day} {name[:3]}", f"{ordinal} of {name}",
                          f"{day}-{name[:3]}-{year}", f"{month:02d}/{day:02d}/{year % 100:02d}", f"{name} {year}",
                          f"{year}/{month:02d}/{day:02d}"))

    def date_plain(self):
        """Returns a date as in a form, with year, month and day."""
        year, month, day = self.number(1930, 2026), self.number(1, 12), self.number(1, 28)
        return self.pick((f"{year}-{month:02d}-{day:02d}", f"{month}/{day}/{year}", f"{day:02d}.{month:02d}.{year}",
                          f"{day:02d}/{month:02d}/{year}", f"{day} {MONTHS[month - 1]} {year}",
                          f"{MONTHS[month - 1]} {day}, {year}"))

    def date_time(self):
        year, month, day = self.number(1970, 2026), self.number(1, 12), self.number(1, 28)
        clock = f"{self.number(0, 23):02d}:{self.number(0, 59):02d}:{self.number(0, 59):02d}"
        return self.pick((f"{year}-{month:02d}-{day:02d} {clock}", f"{year}-{month:02d}-{day:02d} {clock}",
                          f"{year}-{month:02d}-{day:02d} {clock}",
                          f"{year}-{month:02d}-{day:02d}T{clock}Z",
                          f"{day:02d}/{MONTHS[month - 1][:3]}/{year}:{clock} +0000",
                          f"{DAYS[day % 7][:3]}, {day} {MONTHS[month - 1][:3]} {year} {clock} +0000",
                          f"{year}/{month:02d}/{day:02d} {clock[:5]}"))

    def stamp(self):
        return (f"{self.number(2005, 2026)}-{self.number(1, 12):02d}-{self.number(1, 28):02d}"
                f"{self.pick(' T')}{self.number(0, 23):02d}:{self.number(0, 59):02d}:{self.number(0, 59):02d}")

    def year(self):
        return str(self.number(1950, 2025))

    def weekday(self):
        return self.pick(DAYS)

    def nrp(self):
        return self.place().nationality if self.chance(0.55) else self.word("nrp_more")

    # Values that are not personal data

    def money(self):
        amount = self.pick((str(self.number(1, 999)), f"{self.number(1, 99)},{self.digits(3)}",
                            f"{self.number(1, 9999)}.{self.digits(2)}"))
        return self.pick((f"${amount}", f"${amount}", f"£{amount}", f"€{amount}", f"{amount} euros",
                          f"{amount} dollars"))

    def version(self):
        return self.pick((f"{self.number(0, 20)}.{self.number(0, 30)}.{self.number(0, 20)}",
                          f"v{self.number(0, 9)}.{self.number(0, 30)}"))

    def hash(self):
        return "".join(self.pick("0123456789abcdef") for _ in range(self.pick((7, 12, 32, 40))))

    def order(self):
        return self.pick((f"#{self.digits(6)}", f"ORD-{self.digits(7)}", self.digits(8),
                          f"{self.shape('@@')}-{self.digits(5)}", f"INV{self.digits(5)}"))


def ascii_word(text):
    """Returns letters for an email address: removes accents and replaces other scripts by a plain word."""
    text = text.translate(str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ß": "ss"}))
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if c.isascii() and c.isalnum())
    return plain or "user"
