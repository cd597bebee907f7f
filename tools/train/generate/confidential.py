"""Training data for the jailbreak classifier: requests about texts that must stay confidential, and attacks in the same words.

Both have the same conditions and tasks, so that only the wish separates them: most attacks ask for the model's instructions or
secrets, or for what other people wrote.

A row is {"text", "label": "benign" | "jailbreak"}. A third of the rows are attacks."""

import common


def main_generator(rng):
    words = common.Grammar(rng, "confidential")

    def row():
        attack = rng.random() < 1 / 3
        return {"text": words.make("attack" if attack else "harmless"), "label": "jailbreak" if attack else "benign"}

    return row


if __name__ == "__main__":
    common.main(__doc__, main_generator)
