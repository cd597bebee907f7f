"""Training data for the jailbreak classifier: requests about texts that must stay confidential, and requests for the model's
instructions in the same words.

A row is {"text", "label": "benign" | "jailbreak"}. A fifth of the rows are attacks."""

import common


def main_generator(rng):
    words = common.Grammar(rng, "confidential")

    def row():
        attack = rng.random() < 0.2
        return {"text": words.make("attack" if attack else "harmless"), "label": "jailbreak" if attack else "benign"}

    return row


if __name__ == "__main__":
    common.main(__doc__, main_generator)
