"""Training data for the classifier of documents: small documents of many kinds, with an order to the model that reads them, or
with instructions to people.

A row is {"text", "label": "benign" | "injection", "kind"}, where the kind is that of the surroundings."""

import common

# The most characters of a document, and the fewest.
LONGEST, SHORTEST = 1200, 200
JSON_KINDS = ("json", "api", "tool", "calendar_json")
# Kinds in which people are given tasks, so an order without an addressee would be harmless.
TASK_KINDS = ("lesson", "todo")


def main_generator(rng):
    return Maker(rng).row


class Maker:
    """Makes rows, half of which contain an order to the model."""

    def __init__(self, rng):
        self.rng = rng
        self.words = common.Grammar(rng, "orders")
        self.kinds = [name.removesuffix(" head") for name in self.words.lists if name.endswith(" head")]

    def row(self):
        rng = self.rng
        kind = rng.choice(self.kinds)
        attack = rng.random() < 0.5
        order = "addressed order" if kind in TASK_KINDS else "order"
        special = self.held(kind, self.words.make(order)) if attack else self.harmless(kind)
        lines = self.lines(kind, rng.randint(SHORTEST, 900) - len(special))
        if special:
            lines.insert(rng.choice((0, len(lines), rng.randint(0, len(lines)))), special)
        text = self.words.make(f"{kind} head") + "\n".join(lines) + self.words.make(f"{kind} foot")
        text = text.replace("~", "")  # A foot may be empty, but an entry may not.
        if not SHORTEST <= len(text) <= LONGEST:
            return None
        return {"text": text, "label": "injection" if attack else "benign", "kind": kind}

    def lines(self, kind, length):
        """Returns lines of the surroundings, some of which are instructions to people."""
        rng, lines = self.rng, []
        most = len(self.words.lists[f"{kind} line"]) + rng.randint(0, 3)
        while len(lines) < 2 or (sum(map(len, lines)) < length and len(lines) < most):
            if rng.random() < 0.35:
                lines.append(self.held(kind, " ".join(self.words.make("prose") for _ in range(rng.choice((1, 1, 2, 3))))))
            else:
                lines.append(self.words.make(f"{kind} line"))
        if rng.random() < 0.4:
            lines.insert(rng.randint(0, len(lines)), self.held(kind, self.words.make(f"{kind} people")))
        return lines

    def harmless(self, kind):
        """Returns what a harmless document has in the place of an order, or an empty text."""
        chance = self.rng.random()
        if chance < 0.25:
            return ""
        return self.held(kind, self.words.make("machines" if chance < 0.45 else f"{kind} people"))

    def held(self, kind, text):
        """Wraps a text in the form of its surroundings."""
        if kind in JSON_KINDS:
            text = text.replace('"', "'").replace("\n", " ")
        return self.words.make(f"{kind} hold", x=text)


if __name__ == "__main__":
    common.main(__doc__, main_generator)
