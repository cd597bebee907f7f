"""Training data for the domain classifier: questions and tasks in plain words, as people type them.

A row is {"text", "label"}, where the label is one of the 14 domains. The exam questions of public sets are long and
careful, whereas people type "derivative of x^3" or "how do vaccines work". This generator therefore combines many topics
per domain with frames that all domains share, so that a frame does not reveal the domain, and adds questions specific to
each domain, with small numbers in them.
"""

import re

import common

DOMAINS = ("biology", "business", "chemistry", "computer science", "economics", "engineering",
           "health", "history", "law", "math", "other", "philosophy", "physics", "psychology")


def plain_generator(rng):
    asks = common.Grammar(rng, "domain_asks", "innocent")
    topics = common.Grammar(rng, "domain_topics")
    for domain, lines in topics.lists.items():
        topics.lists[domain] = [t.strip() for line in lines for t in line.split(";")]

    def named(domain):
        topic = topics.pick(domain)
        return topic if rng.random() < 0.9 else topic.removeprefix("the ").removeprefix("a ")

    def row():
        domain = rng.choice(DOMAINS)
        way = rng.random()
        if way < 0.45:
            text = asks.make(domain.replace(" ", "_") + "_asks")
        elif domain == "other" and way < 0.55:
            text = asks.make("innocent_daily")
        else:
            frame = "other_frame" if domain == "other" and rng.random() < 0.7 else "frame"
            text = asks.make(frame, t=named(domain), t2=named(domain))
        if rng.random() < 0.05:
            text = rng.choice(["Hi, ", "Hello! ", "Quick question: ", "please help: ", "Hey, ", "One more thing. ",
                               "For my homework: ", "I was wondering, "]) + text
        if len(text) < 6:
            return None
        return {"text": agreed(common.typed(rng, common.upper_first(text))), "label": domain}

    return row


def agreed(text):
    """Corrects verbs that do not agree in number with the topic, if the topic shows its number."""
    plural = r"((?:[A-Za-z'-]+ )?[A-Za-z-]{3,}[a-rt-z]s)\?$"
    for one, many in (("What is", "What are"), ("How does", "How do"), ("Why is", "Why are")):
        text = re.sub(rf"^{one} {plural}", rf"{many} \1?", text)
    return text


if __name__ == "__main__":
    common.main(__doc__, plain_generator)
