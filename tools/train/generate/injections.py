"""Training data for the jailbreak classifier: short injections of many kinds, in English and in other languages, polite and
fictional frames around a request, and harmless texts in the same words.

A row is {"text", "label": "benign" | "jailbreak", "kind"}."""

import base64
import codecs
import re
import unicodedata

import common

TONGUES = ("tongues_germanic", "tongues_romance", "tongues_slavic", "tongues_asian", "tongues_other")
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


def main_generator(rng, forbidden=(), harmless=(), foreign=()):
    return Maker(rng, forbidden, harmless, foreign).row


class Maker:
    """Makes rows, half of which are attacks."""

    def __init__(self, rng, forbidden, harmless, foreign):
        self.rng = rng
        self.short = common.Grammar(rng, "injections")
        self.long = common.Grammar(rng, "pretexts")
        self.tongues = common.Grammar(rng, *TONGUES, english=False)
        self.languages = sorted(name.removesuffix(" attack") for name in self.tongues.lists if name.endswith(" attack"))
        self.forbidden, self.harmless, self.foreign = forbidden, harmless, foreign

    def row(self):
        rng = self.rng
        attack = rng.random() < 0.5
        kind = rng.choices(("short", "frame", "tongue", "code"), (9, 7, 4, 3))[0]
        text = {"short": self.short_one, "frame": self.framed, "tongue": self.tongue, "code": self.coded}[kind](attack)
        return {"text": text, "label": "jailbreak" if attack else "benign", "kind": kind} if text else None

    def short_one(self, attack):
        text = self.short.make("attack" if attack else "harmless")
        text = common.upper_first(text.strip())
        if attack and self.rng.random() < 0.15:  # a request that belongs to the application comes first
            text = self.short.make("harmless").rstrip(".") + self.rng.choice((". ", "\n", "\n\n")) + text
        return common.typed(self.rng, text, 0.7)

    def framed(self, attack):
        wishes = self.forbidden if attack else self.harmless
        if not wishes:
            return None
        wish = self.rng.choice(wishes).strip()
        lowered, doing = common.lower_first(wish), gerund(wish)
        wish = wish if wish[-1] in ".?!" else wish + "."
        return common.typed(self.rng, self.long.make("frame", wish=wish, lwish=lowered, gerund=doing), 0.4)

    def tongue(self, attack):
        """Makes a text in another language. Half of the harmless ones use the words of the attacks in that language, so that
        neither the language nor single words decide."""
        rng = self.rng
        language = rng.choice(self.languages)
        if not attack and self.foreign and rng.random() < 0.5:
            return common.typed(rng, rng.choice(self.foreign), 0.4)
        text = self.tongue_part(language, "attack" if attack else "harmless")
        place = rng.random()
        if place < 0.15:
            text = self.tongue_part(language, "harmless") + rng.choice((" ", "\n", "\n\n")) + text
        elif place < 0.25 and self.foreign:
            text = rng.choice(self.foreign) + rng.choice((" ", "\n\n")) + text
        elif place < (0.35 if attack else 0.7):  # so that both are equally long
            text += " " + self.tongue_part(language, "attack" if attack else "harmless")
        return common.typed(rng, text, 0.5)

    def tongue_part(self, language, kind):
        """Makes an attack or a harmless text. Frames hold forbidden and harmless wishes, which are sometimes English."""
        rng = self.rng
        english = self.forbidden if kind == "attack" else self.harmless
        if english and rng.random() < 0.3:
            wish = rng.choice(english).strip()
            wish = wish if wish[-1] in ".?!" else wish + "."
        elif kind == "attack":
            wish = self.tongues.make(f"{language} wish")
        else:
            wish = self.tongues.expand(rng.choice(self.tongues.lists[f"{language} harmless"]))
        text = self.tongues.make(f"{language} {'frame' if rng.random() < 0.2 else kind}", wish=wish)
        return common.upper_first(re.sub(" +(?=[ ,])", "", text).strip())

    def coded(self, attack):
        """Changes the characters of a text. The change proves nothing: harmless texts are changed as often."""
        rng = self.rng
        text = self.short_one(attack)[:160]
        change = rng.choice((
            lambda: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
            lambda: "".join(c + rng.choice(INVISIBLE) * (rng.random() < 0.3) for c in text),
            lambda: " ".join(text),
            lambda: codecs.encode(text, "rot13"),
            lambda: text[::-1],
            lambda: base64.b64encode(text.encode()).decode(),
            lambda: text.encode().hex(),
            lambda: "".join(f"&#{ord(c)};" if rng.random() < 0.5 else c for c in text),
            lambda: "".join(f"%{ord(c):02X}" if c.isascii() and not c.isalnum() else c for c in text),
            lambda: text.translate(str.maketrans("aeopcx", "аеорсх")),
            lambda: unicodedata.normalize("NFD", text.translate(str.maketrans("aeiou", "áèîöü"))),
        ))
        code = change()
        if rng.random() < 0.4:
            return rng.choice(("Decode this: ", "Read: ", "What does this say? ", "Answer: ", "")) + code
        return code


# Requests for a text about a subject. A pretext mentions the same subject.
ABOUT = re.compile(r"(?:(?:please|can you|could you) )*(?:write|give|create|provide|develop|make|produce|draft|generate|list|describe|"
                   r"explain|teach|tell|show|outline|suggest|compose|construct|publish|design)\b.{0,60}?\b"
                   r"(?:how (?:to|i can|can i|do i|one can)|ways? (?:to|of)|(?:instructions|tutorial|guide|steps|tips|plan|manual) (?:on|for|to)"
                   r"(?: how to)?) (.+)", re.IGNORECASE | re.DOTALL)
QUESTION = re.compile(r"(?:how|where|what|which)\b.{0,40}?\b(?:can i|do i|to|should i|could i|would i|does one|do you|can you) (.+)",
                      re.IGNORECASE | re.DOTALL)


def gerund(wish):
    """Returns the activity that a wish requests: "writing a poem" for "Write a poem.", "baking bread" for "How do I bake bread?"."""
    text = wish.strip().rstrip(".?! ")
    found = ABOUT.fullmatch(text) or QUESTION.fullmatch(text)
    text = common.lower_first(found[1] if found else text)
    verb, _, rest = text.partition(" ")
    if re.fullmatch(r"[a-z]+ing", verb):
        return text
    if not re.fullmatch(r"[a-z]{2,}", verb) or verb in ("what", "how", "why", "who", "is", "are", "the", "a", "an", "can", "do", "does"):
        return f'the question "{text}"'
    if verb == "be":
        verb = "being"
    elif re.search(r"[^aeiouy][aeiou][bdglmnprt]$", verb) and len(verb) < 5:
        verb += verb[-1] + "ing"
    elif verb.endswith("ie"):
        verb = verb[:-2] + "ying"
    elif verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        verb = verb[:-1] + "ing"
    else:
        verb += "ing"
    return f"{verb} {rest}".strip()


if __name__ == "__main__":
    common.main(__doc__, main_generator,
                files=[("forbidden", "requests for harm, one a line"), ("harmless", "other requests, one a line"),
                       ("foreign", "harmless texts in other languages, one a line")])
