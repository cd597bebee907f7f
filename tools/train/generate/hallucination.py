"""Training data for the hallucination tagger: answers to questions about a given context, in which the parts that the
context does not support are marked.

A row is {"context", "question", "answer", "spans"}. Spans are [{"start", "end"}] in code points of the answer, half-open and
in order; a faithful answer has none. Invented parts are changed numbers, dates, units and names (the span is the value),
clauses added to a true sentence, and whole sentences about facts that the context does not contain. Faithful answers use
other words and other forms of the same values.
"""

import common
import facts

# Words that can begin a sentence and become lower case after an introductory phrase.
OPENERS = set("A An At Attendance Bake Delivery For Fully In It On Opened Over Released Revenue Sales Since The "
              "With".split())


def hallucination_generator(rng):
    made = facts.Facts(rng)

    def sentence(fact, fault):
        """Returns a sentence of the answer and the spans in it that the context does not support."""
        kind, values = fact
        spans = []
        if fault == "value":
            about = facts.SUBJECTS[kind].split()[0]
            slots = [s for s in values if s != about]
            rng.shuffle(slots)
            wrong = slots[:rng.choice([1, 1, 1, 2])]
            said, where = made.say((kind, {**values, **{s: made.near(s, values[s]) for s in wrong}}))
            spans = [where[s] for s in wrong if s in where]
        else:
            said, _ = made.say(fact)
        if fault == "clause":
            body = said.removesuffix(".")
            said = body + made.words.make("extra") + "."
            start = len(body) + len(said[len(body):]) - len(said[len(body):].lstrip(" ,"))
            spans = [(start, len(said) - 1)]
        elif fault == "sentence":
            spans = [(0, len(said))]
        return said, spans

    def row():
        given = made.facts(rng.choice([1, 2, 3, 3, 4, 5, 6, 8]))
        lines = [made.say(f)[0] for f in given]
        for _ in range(rng.choice([0, 0, 1, 2])):
            lines.insert(rng.randrange(len(lines) + 1), made.words.make("filler"))
        asked = rng.choice(given)
        question = made.say(asked, asked[0] + "_q", plain=True)[0]
        told = [asked] + rng.sample([f for f in given if f is not asked],
                                    rng.choice([n for n in (0, 0, 1, 2) if n < len(given)]))
        faults = [None] * len(told)
        if rng.random() < 0.55:
            faults[rng.randrange(len(told))] = rng.choice(["value", "value", "value", "clause"])
            if rng.random() < 0.2:
                faults[rng.randrange(len(told))] = "value"
            if rng.random() < 0.25:
                other = rng.choice([k for k in facts.KINDS if k not in [f[0] for f in given]])
                told.append(made.fact(other, **{s: v for s, v in asked[1].items() if s in ("org", "person", "building")}))
                faults.append("sentence")
        answer, spans = "", []
        if rng.random() < 0.15:
            answer = made.words.make("opening")
        opened = bool(answer)
        for fact, fault in zip(told, faults):
            said, wrong = sentence(fact, fault)
            if opened and said.split()[0] in OPENERS:
                said = common.lower_first(said)
            opened = False
            answer += " " if answer else ""
            spans += [{"start": len(answer) + a, "end": len(answer) + b} for a, b in sorted(wrong)]
            answer += said
        return {"context": rng.choice([" ", " ", "\n"]).join(lines), "question": question, "answer": answer,
                "spans": spans}

    return row


if __name__ == "__main__":
    common.main(__doc__, hallucination_generator, key="answer")
