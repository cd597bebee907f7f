#!/usr/bin/env python3
# Writes pairs of questions for the guard of the response cache, as lines of JSON.
#
#     python3 make_pairs.py          # writes to data/ next to this file
#
# changed.jsonl: 500 pairs that must not share an answer. Most differ by one word: a negation or an opposite, or another
# number, unit, date, name (half of them in lower case), quotation or identifier.
# paraphrases.jsonl: pairs that may share an answer. "framed" pairs have the same words in another frame; "free" pairs were
# written by hand, by an author who knew how the guard works, so the guard looks better on them than it is.
# The seed is fixed, so the output is always the same.

import json
import pathlib
import random

HERE = pathlib.Path(__file__).parent / "data"
RANDOM = random.Random(20)

CITIES = "Paris London Berlin Madrid Rome Vienna Tokyo Cairo Lima Oslo Dublin Athens".split()
COUNTRIES = "France Germany Spain Italy Japan Egypt Peru Norway Ireland Greece Kenya India".split()
PEOPLE = ["Marie Curie", "Albert Einstein", "Isaac Newton", "Ada Lovelace", "Alan Turing",
          "Charles Darwin", "Nikola Tesla", "Jane Austen", "Mozart", "Beethoven"]
TOOLS = ["Python", "Java", "Rust", "Go", "Excel", "PostgreSQL", "Docker", "Kubernetes", "Redis"]
CURRENCIES = ["dollars", "euros", "pounds", "yen", "rupees", "francs"]
DRUGS = "aspirin ibuprofen paracetamol warfarin metformin insulin".split()

NAMED = [
    ("What is the capital of {}?", COUNTRIES),
    ("How many people live in {}?", CITIES),
    ("What is the weather like in {} in winter?", CITIES),
    ("When was {} born?", PEOPLE),
    ("What is {} best known for?", PEOPLE),
    ("How do I read a file in {}?", TOOLS),
    ("How do I install {} on Ubuntu?", TOOLS),
    ("What are the side effects of {}?", DRUGS),
    ("Can I drink alcohol while taking {}?", DRUGS),
    ("Who is the president of {}?", COUNTRIES),
    ("Do I need a visa to travel to {}?", COUNTRIES),
    ("What is the best time of the year to visit {}?", CITIES),
    ("Write a short poem about {}.", PEOPLE),
    ("What language is spoken in {}?", COUNTRIES),
]
NUMBERED = [
    ("How do I convert {} miles to kilometers?", [5, 10, 12, 26, 50, 100]),
    ("What is {} percent of 300?", [5, 10, 15, 20, 25, 40]),
    ("What is the square root of {}?", [2, 3, 16, 49, 81, 144]),
    ("How many calories are in {} eggs?", ["two", "three", "four", "six", "ten"]),
    ("What happened in {}?", [1815, 1914, 1929, 1945, 1969, 1989]),
    ("How long should a {} kg turkey be in the oven?", [3, 4, 5, 6, 7.5, 8]),
    ("Is {} a prime number?", [7, 9, 21, 37, 91, 97]),
    ("What is a healthy weight for a {} year old boy?", [5, 8, 10, 12, 15]),
    ("What are the tax rules for an income of ${}?", ["20,000", "40,000", "75,000", "120,000"]),
    ("Plan a {} day trip to Rome.", [2, 3, 5, 7]),
    ("Who won the {} World Cup?", [1966, 1990, 2006, 2014, 2018]),
    ("What changed in version {} of the protocol?", ["1.0", "1.1", "2.0", "3.0"]),
    ("Is {} degrees a fever?", ["37.5", "38", "38.5", "39", "40"]),
    ("Summarize chapter {} of the book.", [1, 2, 3, 7, 12]),
]
UNITS = [
    ("How fast is 100 {} per hour?", ["miles", "kilometers", "meters"]),
    ("How much is 20 {} of flour?", ["grams", "ounces", "pounds", "cups"]),
    ("Is 30 {} a lot of memory?", ["MB", "GB", "TB"]),
    ("What can I buy with 50 {}?", CURRENCIES),
    ("Is 500 {} of vitamin C too much?", ["mg", "g", "mcg"]),
    ("How far is 10 {}?", ["miles", "kilometers", "feet"]),
]
DATES = [
    ("What day of the week was {}?",
     ["March 3, 2021", "March 4, 2021", "May 3, 2021", "March 3, 2012"]),
    ("What happened on {}?", ["July 4, 1776", "July 14, 1789", "June 6, 1944", "July 20, 1969"]),
    ("Is the shop open on {}?", ["Monday", "Sunday", "Friday", "Saturday"]),
    ("What meetings are there in {}?", ["January", "February", "June", "November"]),
    ("What should I plant in {}?", ["April", "October", "the spring", "the autumn"]),
    ("What is on at {}?", ["3 pm", "5 pm", "8:30 pm", "3 am"]),
]
SWAPPED = [
    ("How do I get from {} to {} by train?", CITIES),
    ("Convert {} to {}.", CURRENCIES),
    ("Translate this text from {} into {}.", ["English", "French", "German", "Spanish"]),
    ("Did {} ever beat {}?", ["Arsenal", "Chelsea", "Liverpool", "Everton"]),
    ("Is {} older than {}?", PEOPLE),
    ("Why did {} attack {}?", COUNTRIES),
    ("How do I migrate from {} to {}?", TOOLS),
]
QUOTED = [
    ('What does "{}" mean?', ["ubiquitous", "ephemeral", "pragmatic", "obsolete"]),
    ('Translate "{}" into French.', ["good morning", "good night", "thank you", "I am lost"]),
    ("What does the function {} do?",
     ["std::sort", "std::move", "get_user", "set_user", "parse_args()", "os.path.join()"]),
    ("How do I use the option {}?", ["--force", "--dry-run", "--verbose", "--quiet"]),
    ("What does the error `{}` mean?", ["ENOENT", "EACCES", "segmentation fault", "bus error"]),
]
OPPOSITES = [
    ("How do I {} the volume?", ["increase", "decrease", "mute"]),
    ("What should I do {} an interview?", ["before", "after", "during"]),
    ("What is the {} temperature on the moon?", ["maximum", "minimum", "average"]),
    ("When is the right time to {} shares?", ["buy", "sell", "short"]),
    ("How do I {} the firewall?", ["enable", "disable", "configure"]),
    ("How can I {} weight?", ["lose", "gain", "keep"]),
    ("How do I sort a list in {} order?", ["ascending", "descending", "random"]),
    ("What are the {} of nuclear power?", ["advantages", "disadvantages", "costs"]),
    ("How do I {} a file in Linux?", ["compress", "extract", "encrypt", "decrypt"]),
    ("Which planet is the {} to the sun?", ["closest", "farthest"]),
    ("How do I {} a git commit?", ["undo", "redo", "amend", "sign"]),
    ("Which animals are {} in the desert?", ["most common", "least common"]),
    ("How do I turn {} notifications?", ["on", "off"]),
    ("How do I log {} of my account?", ["in", "out"]),
    ("Is it {} to mix bleach and ammonia?", ["safe", "unsafe", "legal", "illegal"]),
    ("What are {} imports?", ["legal", "illegal", "cheap"]),
    ("What is the {} building in the world?", ["tallest", "shortest", "oldest", "newest"]),
    ("Who was the {} person on the moon?", ["first", "second", "last"]),
    ("Who {} the president of the United States?", ["is", "was", "will be"]),
    ("{} did the war start?", ["When", "Where", "Why", "How"]),
    ("{} Amelia Earhart disappear?", ["How did", "When did", "Where did", "Why did"]),
    ("Is a tomato {} a fruit?", ["always", "never", "sometimes"]),
    ("How do I cook rice {} a lid?", ["with", "without"]),
    ("Which states border Texas to the {}?", ["north", "south", "east", "west"]),
    ("Can I take my {} to school?", ["dog", "phone", "son", "bike"]),
    ("What is {} name?", ["your", "my", "his"]),
]
NEGATED = [
    ("Is it safe to eat raw eggs?", "Is it not safe to eat raw eggs?"),
    ("Why does my car start in the cold?", "Why doesn't my car start in the cold?"),
    ("Which foods contain gluten?", "Which foods do not contain gluten?"),
    ("Which countries use the euro?", "Which countries don't use the euro?"),
    ("Should I tell my boss that I am leaving?", "Should I not tell my boss that I am leaving?"),
    ("What can I eat with diabetes?", "What can't I eat with diabetes?"),
    ("How do I deploy with downtime?", "How do I deploy without downtime?"),
    ("Which antibiotics can be taken with milk?", "Which antibiotics cannot be taken with milk?"),
    ("What happens if I pay my taxes?", "What happens if I never pay my taxes?"),
    ("Why is the sky blue at noon?", "Why isn't the sky blue at noon?"),
    ("Can dogs eat chocolate?", "Can't dogs eat chocolate?"),
    ("Which birds can fly?", "Which birds can not fly?"),
    ("What metals are magnetic?", "What metals are non-magnetic?"),
    ("Who has won a Nobel prize?", "Who has never won a Nobel prize?"),
    ("Which mammals lay eggs?", "Which mammals do not lay eggs?"),
    ("Do I have to register for the exam?", "Do I not have to register for the exam?"),
    ("Is Pluto a planet?", "Why is Pluto no planet?"),
    ("What should I say in an interview?", "What should I not say in an interview?"),
    ("Which players were injured in the match?", "Which players weren't injured in the match?"),
    ("When should the alarm ring?", "When should the alarm not ring?"),
    ("Does the train stop in Leeds?", "Doesn't the train stop in Leeds?"),
    ("Which cookies are required?", "Which cookies are not required?"),
    ("List everyone who has paid.", "List everyone who hasn't paid."),
    ("Explain why the test failed.", "Explain why the test has not failed."),
    ("What works offline?", "What does not work offline?"),
]

ACTIONS = [
    "reset my password", "bake sourdough bread", "change a flat tire", "remove a wine stain",
    "learn to play the guitar", "cancel my subscription", "write a cover letter",
    "grow tomatoes indoors", "set up a home network", "tie a bow tie", "train a puppy",
    "file a tax return", "clean a coffee machine", "sort a list in Python",
    "fix a leaking tap", "make pancakes without eggs", "apply for a passport",
    "merge two branches in git", "lower my blood pressure", "back up my phone",
    "solve a quadratic equation", "open a bank account in Spain", "start a podcast",
    "renew my driving licence", "write unit tests for a React component",
]
HOW = ["How do I {}?", "how to {}", "How can I {}?", "What is the best way to {}?",
       "Could you tell me how to {}?", "What's the right way to {}?", "Please explain how to {}.",
       "I would like to know how to {}", "Can you show me how to {}?", "how do you {}",
       "I need to {}. How do I do it?", "Any tips on how to {}?", "Steps to {}",
       "I'm trying to {}", "hey, how would I {}?", "What do I need to do to {}?",
       "How should one {}?", "I want to {}"]
THINGS = [
    "the capital of Australia", "the boiling point of ethanol", "the plot of Hamlet",
    "the difference between a virus and a bacterium", "the theory of relativity",
    "photosynthesis", "the largest ocean on Earth", "a black hole", "quantum entanglement",
    "the function of the liver", "the definition of inflation", "a closure in JavaScript",
    "the speed of light", "the main causes of the French Revolution", "machine learning",
    "the currency of Switzerland", "the meaning of the word serendipity", "a hash table",
]
WHAT = ["What is {}?", "what's {}", "Tell me {}", "Can you tell me what {} is?", "{}?",
        "Explain {}", "Could you explain {} to me?", "I'd like to understand {}",
        "Please tell me about {}", "Do you know what {} is?", "Give me {}", "What exactly is {}?",
        "Hi, what is {}? Thanks", "I want to know what {} is"]
FREE = [
    ("When did the Second World War end?", "In what year did the Second World War end?"),
    ("How tall is Mount Everest?", "What is the height of Mount Everest?"),
    ("Who wrote Pride and Prejudice?", "Who is the author of Pride and Prejudice?"),
    ("Why is the sky blue?", "What makes the sky blue?"),
    ("Why is the sky blue?", "What is the reason that the sky is blue?"),
    ("How far is the moon from the earth?", "What is the distance from the earth to the moon?"),
    ("What causes tides?", "Why are there tides?"),
    ("How do vaccines work?", "How does a vaccine work?"),
    ("How many planets are in the solar system?", "What is the number of planets in the solar system?"),
    ("Who invented the telephone?", "Who was the inventor of the telephone?"),
    ("How old is the universe?", "What is the age of the universe?"),
    ("What is the population of Canada?", "How many people live in Canada?"),
    ("How can I sleep better?", "What helps with sleeping better?"),
    ("Where can I buy a used car?", "Where can I purchase a used car?"),
    ("How do I fix a flat bicycle tire?", "How do I repair a flat bike tire?"),
    ("What are the benefits of exercise?", "What are the advantages of exercise?"),
    ("What does HTTP stand for?", "What is the meaning of HTTP?"),
    ("How do I delete a branch in git?", "In git, how do I delete a branch?"),
    ("How do I reverse a string in Python?", "In Python, how can I reverse a string?"),
    ("Is coffee bad for you?", "Is drinking coffee unhealthy?"),
    ("What is the fastest animal on land?", "Which land animal is the fastest?"),
    ("What is the tallest building in the world?", "Which building is the tallest in the world?"),
    ("How long does it take to boil an egg?", "How long do I have to boil an egg?"),
    ("When did humans first land on the moon?", "When was the first moon landing?"),
    ("What is the French word for bread?", "How do you say bread in French?"),
    ("What are the symptoms of the flu?", "Which symptoms does the flu have?"),
    ("What is France's capital?", "What is the capital of France?"),
    ("How does a refrigerator work?", "Explain how a fridge works"),
    ("Why do cats purr?", "What is the reason cats purr?"),
    ("How do I get rid of ants?", "What is the best way to get rid of ants?"),
    ("Which countries are in the EU?", "List the countries of the EU"),
    ("What is a healthy breakfast?", "Give me an idea for a healthy breakfast"),
    ("Summarize the plot of Macbeth", "Can you summarise the plot of Macbeth?"),
    ("Write a haiku about autumn", "Please write me a haiku about autumn"),
    ("What is the deepest point of the ocean?", "Where is the ocean deepest?"),
    ("How much does a passport cost?", "What is the cost of a passport?"),
    ("How do I center a div in CSS?", "How can a div be centered in CSS?"),
    ("What's the difference between TCP and UDP?", "How do TCP and UDP differ?"),
    ("What is the best laptop for students?", "Which laptop is best for students?"),
    ("How do I know if an avocado is ripe?", "How can I tell whether an avocado is ripe?"),
]


def lower(text, names):
    for name in names:
        text = text.replace(str(name), str(name).lower())
    return text


def one_apart(kind, templates):
    pairs = []
    for template, values in templates:
        for i, a in enumerate(values):
            for b in values[i + 1:]:
                x, y = template.format(a), template.format(b)
                if kind == "renamed" and RANDOM.random() < 0.5:
                    x, y = lower(x, [a, b]), lower(y, [a, b])
                pairs.append({"kind": kind, "a": x, "b": y})
    RANDOM.shuffle(pairs)
    return pairs


def swapped():
    pairs = []
    for template, values in SWAPPED:
        for i, a in enumerate(values):
            for b in values[i + 1:]:
                x, y = template.format(a, b), template.format(b, a)
                if RANDOM.random() < 0.5:
                    x, y = lower(x, [a, b]), lower(y, [a, b])
                pairs.append({"kind": "swapped", "a": x, "b": y})
    RANDOM.shuffle(pairs)
    return pairs


def negated():
    pairs = [{"kind": "negated", "a": a, "b": b} for a, b in NEGATED]
    for action in ACTIONS:
        pairs.append({"kind": "negated", "a": f"How do I {action}?", "b": f"How do I not {action}?"})
        pairs.append({"kind": "negated", "a": f"Should I {action}?", "b": f"Should I never {action}?"})
        pairs.append({"kind": "negated", "a": f"Why can I {action}?", "b": f"Why can't I {action}?"})
    return pairs


def changed():
    parts = [(negated(), 100), (one_apart("renamed", NAMED), 110),
             (one_apart("renumbered", NUMBERED), 100), (one_apart("units", UNITS), 20),
             (one_apart("dates", DATES), 30), (swapped(), 60), (one_apart("quoted", QUOTED), 30),
             (one_apart("opposite", OPPOSITES), 50)]
    out = []
    for pairs, count in parts:
        assert len(pairs) >= count, (pairs[0]["kind"], len(pairs))
        out += pairs[:count]
    assert len(out) == 500
    return out


def paraphrases():
    out = []
    for subjects, frames in ((ACTIONS, HOW), (THINGS, WHAT)):
        for subject in subjects:
            for a, b in [RANDOM.sample(frames, 2) for _ in range(6)]:
                out.append({"kind": "framed", "a": a.format(subject), "b": b.format(subject)})
    return out + [{"kind": "free", "a": a, "b": b} for a, b in FREE]


def write(name, rows):
    with open(HERE / name, "w") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    write("changed.jsonl", changed())
    write("paraphrases.jsonl", paraphrases())
