"""Training data for the domain classifier: questions and tasks in plain words, as people type them.

A row is {"text", "label"}, the label one of the 14 domains. Exam questions, of which public sets
are full, say much and carefully; people type "derivative of x^3" or "how do vaccines work". So: many
topics a domain, under frames that all domains share (a frame must not give the domain away), beside
questions of each domain's own with small numbers worked in.
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
    """Verbs that a frame put before a topic of the other number, where the topic shows it."""
    plural = r"((?:[A-Za-z'-]+ )?[A-Za-z-]{3,}[a-rt-z]s)\?$"
    for one, many in (("What is", "What are"), ("How does", "How do"), ("Why is", "Why are")):
        text = re.sub(rf"^{one} {plural}", rf"{many} \1?", text)
    return text


if __name__ == "__main__":
    common.main(__doc__, plain_generator)
