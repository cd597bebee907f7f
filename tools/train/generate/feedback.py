"""Training data for the feedback classifier: how does a user's next message rate the previous answer?

A row is {"text", "label"}. The label is SAT, NEED_CLARIFICATION, WRONG_ANSWER or WANT_DIFFERENT, as in the published models
of this task. Messages are short, with and without the topic, serious and mocking, in good and in careless spelling.
"""

import common

LABELS = {"sat": "SAT", "need_clarification": "NEED_CLARIFICATION", "wrong_answer": "WRONG_ANSWER",
          "want_different": "WANT_DIFFERENT"}
LENGTHS = (4, 220)


def feedback_generator(rng):
    grammar = common.Grammar(rng, "feedback", "domain_topics")
    topics = [t.strip() for name, lines in grammar.lists.items() if name in TOPICS
              for line in lines for t in line.split(";")]
    grammar.lists["topic"] = topics

    def message(kind):
        return common.upper_first(grammar.make(kind, t=grammar.pick("topic")))

    def row():
        kind = rng.choice(list(LABELS))
        text = message(kind)
        if rng.random() < 0.12:
            text = text.rstrip(" ,") + rng.choice([" ", " ", ". "]) + message(kind)
        if rng.random() < 0.05:
            text = rng.choice(["Hmm. ", "OK so ", "Hey, ", "Well... ", "Ok. ", "Sorry, "]) + text
        text = common.typed(rng, text, 1.6)
        fits = LENGTHS[0] <= len(text) <= LENGTHS[1]
        return {"text": text, "label": LABELS[kind]} if fits else None

    return row


TOPICS = ("biology", "business", "chemistry", "computer science", "economics", "engineering", "health",
          "history", "law", "math", "other", "philosophy", "physics", "psychology")


if __name__ == "__main__":
    common.main(__doc__, feedback_generator)
