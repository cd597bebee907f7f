"""Training data for the fact-check classifier: does an answer to this request need to be checked against sources?

A row is {"text", "label"}; the labels are those of the published models of this task. FACT_CHECK_NEEDED: the text requests
or states facts. NO_FACT_CHECK_NEEDED: fiction, opinion, code, calculations, small talk, or the user's own text. Both classes
contain the same topics, places and people, so only the kind of request decides.
"""

import common

FACTUAL = ("biology", "business", "chemistry", "economics", "health", "history", "law", "physics",
           "psychology", "engineering", "other", "philosophy")


def fact_generator(rng):
    grammar = common.Grammar(rng, "fact_check", "domain_topics")
    topics = [t.strip() for d in FACTUAL for line in grammar.lists[d] for t in line.split(";")]
    grammar.lists["topic"] = topics

    def row():
        needed = rng.random() < 0.5
        text = grammar.make("needed" if needed else "not_needed", t=grammar.pick("topic"), t2=grammar.pick("topic"))
        if rng.random() < 0.1:
            text = rng.choice(["Hi! ", "Quick question: ", "Please help. ", "Hey, ", "One more: ", "Thanks! Now: "]) + text
        if rng.random() < 0.06:
            # Make a longer message with a second request of the same kind.
            text += " " + grammar.make("needed" if needed else "not_needed", t=grammar.pick("topic"),
                                       t2=grammar.pick("topic"))
        text = common.typed(rng, common.upper_first(text))
        return {"text": text, "label": "FACT_CHECK_NEEDED" if needed else "NO_FACT_CHECK_NEEDED"}

    return row


if __name__ == "__main__":
    common.main(__doc__, fact_generator)
