"""Training data for the modality classifier: does a request call for text, an image, or both?

A row is {"text", "label"}. The label is AR (text), DIFFUSION (an image) or BOTH, as in the published models of this task.
The AR class includes requests for text that mention pictures (how to draw, code that resizes images, captions), so that no
single word decides.
"""

import common

LABELS = {"ar": "AR", "diffusion": "DIFFUSION", "both": "BOTH"}
TOPICS = ("biology", "business", "chemistry", "engineering", "health", "history", "physics", "other",
          "psychology", "computer science")


def modality_generator(rng):
    grammar = common.Grammar(rng, "modality", "domain_topics", "innocent")
    grammar.lists["user_text"] = common.read_lists("fact_check")["user_text"]
    grammar.lists["topic"] = [t.strip() for d in TOPICS for line in grammar.lists[d] for t in line.split(";")]

    def row():
        kind = rng.choice(list(LABELS))
        text = grammar.make(kind, t=grammar.pick("topic"))
        if rng.random() < 0.1:
            text = rng.choice(["Hi! ", "Hey, ", "Please: ", "Hello, ", "Next: ", "I have a request. "]) + text
        if rng.random() < 0.08:
            text += " " + grammar.make("sentence")
        return {"text": common.typed(rng, common.upper_first(text)), "label": LABELS[kind]}

    return row


if __name__ == "__main__":
    common.main(__doc__, modality_generator)
