"""Training data for natural language inference over facts with numbers, dates, units and names.

A row is {"text": premise, "pair": hypothesis, "label"}. entailment: a paraphrase, another form of the same value, a bound
that holds, or the denial of a wrong value. contradiction: a changed value, a denial, or a bound that does not hold. neutral:
a detail that the premise does not contain. Premises have one to six sentences. Denials and bounds occur under both verdicts,
so that no word reveals the label.
"""

import re

import common
import facts

BOUNDED = ("count", "percent", "length", "weight", "small", "money", "price")


def nli_generator(rng):
    made = facts.Facts(rng)

    def denied(text):
        out = re.sub(r"\b(was|were|is|are|has been|will) (?!not)", lambda m: m[0].split()[0] + " not "
                     + m[0].partition(" ")[2], text, count=1)
        return out if out != text else None

    def changed(fact):
        """Returns the fact with one value changed, but never its subject."""
        kind, values = fact
        if kind == "match" and rng.random() < 0.5:
            return kind, {**values, "team": values["team2"], "team2": values["team"]}
        slot = rng.choice(made.own(fact))
        return kind, {**values, slot: made.near(slot, values[slot])}

    def bounded(fact, holds):
        """Words a bound on a number (more than, fewer than, at least) that holds or does not hold."""
        kind, values = fact
        slots = [s for s in values if s in BOUNDED]
        if not slots:
            return None
        slot = rng.choice(slots)
        step = max(1, int(values[slot] * rng.uniform(0.1, 0.5)))
        above = rng.random() < 0.5
        bound = values[slot] - step if above == holds else values[slot] + step
        if bound < 1:
            return None
        words = rng.choice(["more than", "over", "at least"] if above else ["fewer than", "at most"])
        if slot not in ("count", "small") and not above:
            words = rng.choice(["less than", "at most", "under"])
        said = facts.Said(f"{words} {made.form(slot, bound, False)}")
        return made.say((kind, {**values, slot: said}))[0]

    def entailed(fact):
        way = rng.random()
        if way < 0.16:
            return bounded(fact, holds=True)
        if way < 0.28:
            # The denial of a wrong value is true only if the denial cannot refer to another value.
            return denied(made.say(changed(fact))[0]) if len(made.own(fact)) == 1 else None
        return made.say(fact)[0]

    def contradicted(fact):
        way = rng.random()
        if way < 0.16:
            return bounded(fact, holds=False)
        if way < 0.30:
            return denied(made.say(fact)[0])
        return made.say(changed(fact))[0]

    def unsupported(fact, kinds):
        """Returns a true statement with a detail added, or another fact about the same subject. Founding and opening dates
        are not used, because they could contradict another date."""
        kind, values = fact
        if rng.random() < 0.55:
            return made.say(fact)[0].rstrip(".") + made.words.make("extra") + "."
        others = [k for k in facts.KINDS if k not in kinds + ["born", "founded"]
                  and set(made.slots(k)) & {"org", "person", "building", "product"} & set(values)]
        if not others:
            return None
        return made.say(made.fact(rng.choice(others), **{s: values[s] for s in ("org", "person", "building", "product")
                                                         if s in values}))[0]

    def row():
        given = made.facts(rng.choice([1, 1, 2, 2, 3, 4, 5]))
        sentences = [made.say(f)[0] for f in given]
        if rng.random() < 0.3:
            sentences.insert(rng.randrange(len(sentences) + 1), made.words.make("filler"))
        fact = rng.choice(given)
        label = rng.choice(["entailment", "contradiction", "neutral"])
        hypothesis = {"entailment": lambda: entailed(fact), "contradiction": lambda: contradicted(fact),
                      "neutral": lambda: unsupported(fact, [k for k, _ in given])}[label]()
        premise = " ".join(sentences)
        if not hypothesis or hypothesis == premise:
            return None
        return {"text": premise, "pair": common.tidy(hypothesis), "label": label}

    return row


if __name__ == "__main__":
    common.main(__doc__, nli_generator)
