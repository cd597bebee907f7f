"""Training data for the jailbreak classifier: harmless texts that it takes for attacks, and attacks in the same words.

The kinds are `followups`, requests about the conversation and the assistant; `templates`, prompts with places for texts;
`extraction`, requests to repeat or change a text; and `security`, documents about attacks.

A row is {"text", "label": "benign" | "jailbreak", "kind"}. A third of the rows are attacks."""

import common

KINDS = ("followups", "templates", "extraction", "security")


def main_generator(rng):
    words = {kind: common.Grammar(rng, kind) for kind in KINDS}

    def row():
        kind = rng.choice(KINDS)
        attack = rng.random() < 1 / 3
        text = words[kind].make("attack" if attack else "harmless").strip()
        return {"text": text, "label": "jailbreak" if attack else "benign", "kind": kind}

    return row


if __name__ == "__main__":
    common.main(__doc__, main_generator)
