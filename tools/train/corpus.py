"""Provides the labelled texts of every task, from public sets (README.md lists their origins) and from the generators in
generate/.

An example is a dict: task, text, pair or None, and either label (an index) or spans (type, begin, end). A span of type
None is excluded from training. Whether an example is held out depends on its text alone, so other changes never move it."""

import csv
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from passages import Cutter
from texts import everyday, held_out, json_lines, sample

DOMAINS = ["biology", "business", "chemistry", "computer science", "economics", "engineering", "health",
           "history", "law", "math", "other", "philosophy", "physics", "psychology"]
PII_TYPES = ["AGE", "CREDIT_CARD", "DATE_TIME", "DOMAIN_NAME", "EMAIL_ADDRESS", "GPE", "IBAN_CODE", "IP_ADDRESS",
             "NRP", "ORGANIZATION", "PERSON", "PHONE_NUMBER", "STREET_ADDRESS", "TITLE", "US_DRIVER_LICENSE",
             "US_SSN", "ZIP_CODE"]
LABELS = {
    "domain": DOMAINS,
    "jailbreak": ["benign", "jailbreak"],
    "injection": ["benign", "injection"],
    "jailbreak-type": ["prompt_injection", "instruction_override", "role_play", "social_engineering"],
    "pii": ["O"] + [place + kind for kind in PII_TYPES for place in ("B-", "I-")],
    "fact-check": ["NO_FACT_CHECK_NEEDED", "FACT_CHECK_NEEDED"],
    "feedback": ["SAT", "NEED_CLARIFICATION", "WRONG_ANSWER", "WANT_DIFFERENT"],
    "modality": ["AR", "DIFFUSION", "BOTH"],
    "nli": ["entailment", "neutral", "contradiction"],
    "hallucination": ["O", "HALLUCINATION"],
}
TOKEN_TASKS = ("pii", "hallucination")
PART_TASKS = ("jailbreak", "injection")  # classified by the strongest part of a text, not by its mean

# Assigns the subjects of MMLU to the 14 domains, as MMLU-Pro does. moral_scenarios is excluded, because it repeats one
# template a thousand times.
SUBJECTS = {
    "physics": "astronomy college_physics conceptual_physics high_school_physics",
    "chemistry": "college_chemistry high_school_chemistry",
    "biology": "college_biology high_school_biology",
    "computer science": "college_computer_science computer_security high_school_computer_science machine_learning",
    "math": "abstract_algebra college_mathematics elementary_mathematics high_school_mathematics "
            "high_school_statistics",
    "engineering": "electrical_engineering",
    "law": "international_law jurisprudence professional_law",
    "health": "anatomy clinical_knowledge college_medicine human_aging medical_genetics nutrition "
              "professional_medicine virology",
    "economics": "econometrics high_school_macroeconomics high_school_microeconomics",
    "business": "business_ethics management marketing",
    "psychology": "high_school_psychology professional_psychology",
    "philosophy": "formal_logic logical_fallacies moral_disputes philosophy world_religions",
    "history": "high_school_european_history high_school_us_history high_school_world_history prehistory",
    "other": "global_facts high_school_geography high_school_government_and_politics human_sexuality miscellaneous "
             "professional_accounting public_relations security_studies sociology us_foreign_policy",
}


def example(task, text, label=None, pair=None, spans=None, share=0.05, origin=""):
    key = text if pair is None else pair + text
    if isinstance(label, str):
        label = LABELS[task].index(label)
    return {"task": task, "text": text, "pair": pair, "label": label, "spans": spans, "origin": origin,
            "held_out": held_out(key, share)}


WRITTEN = Path(__file__).parent / "written"
JAILBREAK_WRITTEN = {"jailbreak": "jailbreak_attack.jsonl", "benign": "jailbreak_benign.jsonl"}
mined = None  # the output file of mine.py; None: no such file


def written(name):
    """Returns texts written by hand for this project. The file contains plain lines, or JSON lines with a text each."""
    path = WRITTEN / name
    if path.suffix == ".jsonl":
        return [row["text"] for row in json_lines(path)]
    return path.read_text(encoding="utf-8").splitlines()


def mined_rows(member):
    """Returns the mined rows that have this member: "label" for jailbreak, "spans" for pii."""
    return [row for row in json_lines(mined) if member in row] if mined else []


def repeated(examples, times):
    """Repeats training examples, for sets that are small compared with others. Held-out examples are not repeated."""
    for e in examples:
        yield from [e] * (1 if e["held_out"] else times)


def generated(name, rows, seed=1, *options):
    """Returns rows of a generator; `options` are passed to it."""
    script = Path(__file__).parent / "generate" / f"{name}.py"
    out = subprocess.run([sys.executable, script, "--rows", str(rows), "--seed", str(seed), *options],
                         capture_output=True, check=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def domain(data):
    subject_domain = {subject: label for label, subjects in SUBJECTS.items() for subject in subjects.split()}
    seen = set()
    for row in json_lines(data / "domain_mmlupro.jsonl"):
        seen.add(row["text"].strip())
        yield example("domain", row["text"], row["label"], origin="mmlu-pro")
    for row in json_lines(data / "domain_mmlu_subjects.jsonl"):
        text = row["text"].strip()
        if text not in seen and row["subject"] in subject_domain:
            seen.add(text)
            yield example("domain", row["text"], subject_domain[row["subject"]], share=0.03, origin="mmlu")
    for row in generated("domain_plain", 5000):
        yield example("domain", row["text"], row["label"], share=0.05, origin="generated")
    for label in DOMAINS:
        texts = written(f"domain_{label.replace(' ', '_')}.txt")
        yield from repeated([example("domain", text, label, origin="written") for text in texts], 3)
    for text in everyday(data, 1200):
        yield example("domain", text, "other", share=0.05, origin="everyday")


def in_prose(data, attacks, count, seed=2):
    """Yields (text, label, origin): passages alone, and passages that contain an attack or a harmless request."""
    rng = random.Random(seed)
    passages = Cutter(data, rng)
    for _ in range(count):
        yield passages.cut(rng.randint(120, 1300)), "benign", "passage"
    for text, label in sample(attacks, count, seed):
        if len(text) < 900:
            around = passages.cut(rng.randint(60, max(61, 1100 - len(text))))
            at = rng.choice((0, len(around), rng.randint(0, len(around))))
            glue = rng.choice(("\n\n", "\n", " "))
            yield (around[:at] + glue + text + glue + around[at:]).strip(), label, "in-passage"
        elif label == "jailbreak" and rng.random() < 0.3:  # a window of a long attack
            begin = rng.randrange(len(text) - 600)
            yield text[begin : begin + rng.randint(600, 1000)], label, "part"


def asked(data, held=False):
    """Returns [(text, label)] to insert into passages: attacks, and harmless texts that resemble them. Returns either the
    held-out texts or all others."""
    out = [(row["text"], row["label"]) for row in generated("jailbreak", 9000) if held_out(row["text"], 0.05) == held]
    out += [(row["text"], "jailbreak") for row in json_lines(data / "jailbreak_prompts.jsonl")
            if held_out(row["text"], 0.2) == held] * 3
    for label, name in JAILBREAK_WRITTEN.items():
        out += [(text, label) for text in written(name) if held_out(text, 0.1) == held] * 3
    return out


def jailbreak(data):
    def both(text, label, kind=None, share=0.1, origin=""):
        yield example("jailbreak", text, label, share=share, origin=origin)
        if kind is not None:
            yield example("jailbreak-type", text, kind, share=share, origin=origin)

    for row in json_lines(data / "jailbreak_prompts.jsonl"):
        yield from both(row["text"], "jailbreak", share=0.2, origin="wild")
    more = data / "more"
    for label, name in JAILBREAK_WRITTEN.items():
        yield from repeated([example("jailbreak", text, label, origin="written", share=0.1) for text in written(name)], 3)
    for held, count in ((False, 18000), (True, 900)):
        for text, label, origin in in_prose(data, asked(data, held), count):
            yield from both(text, label, share=float(held), origin=origin)
    for row in mined_rows("label"):
        yield from both(row["text"], row["label"], share=0, origin="mined")
    for row in generated("jailbreak", 9000):
        yield from both(row["text"], row["label"], row.get("type"), share=0.05, origin="generated")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as wishes:
        for name in ("advbench_behaviors", "tdc2023_test_phase_behaviors"):
            with open(more / "harmful-behaviours" / f"{name}.csv", encoding="utf-8") as file:
                wishes.writelines(row["Behavior"] + "\n" for row in csv.DictReader(file))
        wishes.flush()
        for row in generated("jailbreak", 6000, 2, "--wishes", wishes.name):
            yield from both(row["text"], row["label"], row.get("type"), share=0.05, origin="generated-wishes")
    for name in ("hijacking_few_shot_example", "extraction_few_shot_example"):
        with open(more / "promptfuzz" / f"{name}.csv", encoding="utf-8", errors="replace") as file:
            for row in csv.DictReader(file):
                for text in dict.fromkeys((row["prompt"], row["parent_prompt"])):
                    if 60 < len(text) < 4000:
                        yield from both(text, "jailbreak", "prompt_injection", origin="promptfuzz")
    benign = [(text, "everyday") for text in everyday(data, 5000)]
    benign += [(row["text"], "mmlu-pro") for row in sample(json_lines(data / "domain_mmlupro.jsonl"), 2500)]
    with open(more / "awesome-prompts" / "prompts.csv", encoding="utf-8") as file:
        benign += [(row["prompt"], "awesome") for row in csv.DictReader(file)]
    for name in ("v0.1_question", "v2.0_question"):
        for row in json_lines(more / "arena-hard" / f"{name}.jsonl"):
            text = row["turns"][0]["content"] if "turns" in row else row.get("prompt", "")
            benign.append((text, "arena"))
    benign += [(row["prompt"], "ifeval") for row in json_lines(more / "ifeval" / "input_data.jsonl")]
    for row in json_lines(more / "self-instruct" / "user_oriented_instructions.jsonl"):
        benign.append((row["instruction"] + "\n" + row["instances"][0]["input"], "self-instruct"))
    with open(more / "harmful-behaviours" / "advbench_behaviors.csv", encoding="utf-8") as file:
        benign += [(row["Behavior"], "harmful") for row in list(csv.DictReader(file))[:400]]
    for text, origin in benign:
        if len(text) > 3:
            yield from both(text, "benign", origin=origin)


def pii(data):
    found = list(pii_texts(data))
    yield from found
    for held, many, in_passages in ((False, 3000, 2500), (True, 150, 150)):
        of = [e for e in found if e["held_out"] == held]
        yield from joined(of, many, held)
        yield from among_passages(data, [e for e in of if e["spans"]], in_passages, held)


def pii_texts(data):
    def make(text, spans, share, origin):
        return example("pii", text, spans=spans, share=share, origin=origin)

    kept = []
    for row in json_lines(data / "pii_presidio_v2.jsonl"):
        spans = [(e["type"], e["start"], e["end"]) for e in row["entities"]]
        kept.append(make(row["text"], spans, 0.15, "presidio-v2"))
    yield from kept
    yield from refilled([e for e in kept if not e["held_out"]], 9)
    older = []
    renamed = {"LOCATION": "GPE", "ADDRESS": "STREET_ADDRESS", "PREFIX": "TITLE"}
    for row in json_lines(data / "pii_presidio_large_older_types.jsonl"):
        spans = []
        for e in row["entities"]:
            kind = renamed.get(e["type"], e["type"])
            if e["type"] == "ADDRESS" and (e["value"].isdigit() or len(e["value"]) < 4):
                kind = None  # a house number, a ZIP code or a state; only the newer set distinguishes these
            spans.append((kind, e["start"], e["end"]))
        # The older set leaves years unmarked.
        spans += [(None, i, i + 4) for i in range(len(row["text"]) - 3) if row["text"][i:i + 4].isdigit()
                  and not any(b < i + 4 and i < e for _, b, e in spans)]
        older.append(make(row["text"], spans, 0.05, "presidio-older"))
    yield from older
    yield from refilled([e for e in older if not e["held_out"]], 2)
    for row in generated("pii", 9000):
        spans = [(e["type"], e["start"], e["end"]) for e in row["entities"]]
        yield make(row["text"], spans, 0.05, "generated")
    yield from informal(data)
    by_hand = [make(*marked(line), 0.1, "written") for line in written("pii_some.txt")]
    yield from repeated(by_hand, 3)
    yield from refilled([e for e in by_hand if not e["held_out"]], 3)
    yield from repeated([make(line, [], 0.1, "written-none") for line in written("pii_none.txt")], 2)
    doubted = {row["text"]: row["spans"] for row in mined_rows("spans")}
    for text in dict.fromkeys(everyday(data, 40_000)):
        e = make(text, doubted.get(text, []), 0.1, "everyday")
        yield from repeated([e], 8 if text in doubted else 1)
    for row in sample(json_lines(data / "domain_mmlupro.jsonl"), 4000, seed=2):
        yield make(row["text"], [], 0.1, "mmlu-pro")


def informal(data):
    """Yields posts, chats, reviews and headlines: generated ones, and the tweets of the Broad Twitter Corpus."""
    guards = data / "guards"
    names = [f"--{kind}={guards / f'names_{kind}.txt'}" for kind in ("first", "last", "companies", "cities")]
    for row in generated("informal", 8000, 1, *names):
        spans = [(e["type"], e["start"], e["end"]) for e in row["entities"]]
        yield example("pii", row["text"], spans=spans, share=0.05, origin="informal")
    for row in json_lines(guards / "ner_btc.jsonl"):
        yield from repeated([example("pii", row["text"], spans=tweet_spans(row), share=0.15, origin="btc")], 3)


TWEET_TYPES = {"PER": "PERSON", "LOC": "GPE", "ORG": "ORGANIZATION"}
# Tweets with these are excluded from training, because they contain types of personal data that the Broad Twitter
# Corpus does not distinguish.
TWEET_UNMARKED = re.compile(
    r"https?://\S+|\b(?:19|20)\d\d\b|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|"
    r"\b(?:January|February|April|June|July|August|September|October|November|December)\b|"
    r"\b(?:President|Senators?|Sen|Minister|PM|Mayor|Dr|Mrs?|Ms|Prof|Sir|Gov|Rep|Coach|Judge)\b", re.IGNORECASE)


def tweet_spans(row):
    """Returns the spans of a tweet as those of generate/informal.py: without handles, and without the # of a hashtag."""
    text, spans = row["text"], []
    for e in row["spans"]:
        begin, end = e["start"], e["end"]
        if text[begin] == "@" or text[:begin].rstrip().endswith("@"):
            continue
        begin += len(text[begin:end]) - len(text[begin:end].lstrip("# "))
        if begin < end:
            spans.append((TWEET_TYPES[e["type"]], begin, end))
    excluded = [match.span() for match in TWEET_UNMARKED.finditer(text)]
    spans += [(None, b, e) for b, e in excluded if not any(b < end and begin < e for _, begin, end in spans)]
    return sorted(spans, key=lambda span: span[1])


def marked(line):
    """Returns the text and the spans of a line that marks its spans as [[TYPE:value]]."""
    text, spans, done = "", [], 0
    for mark in re.finditer(r"\[\[([A-Z_]+):(.*?)\]\]", line):
        text += line[done:mark.start()]
        if mark[1] not in PII_TYPES:
            raise ValueError(f"no type of personal data: {mark[1]}")
        spans.append((mark[1], len(text), len(text) + len(mark[2])))
        text, done = text + mark[2], mark.end()
    return text + line[done:], spans


def joined(examples, count, held, seed=1):
    """Joins several examples, on average as many with personal data as without, because most prompts are longer than a
    sentence."""
    rng = random.Random(seed)
    kinds = [[e for e in examples if bool(e["spans"]) == marked] for marked in (False, True)]
    for _ in range(count):
        text, spans, length = "", [], rng.randint(150, 1100)
        gap = rng.choice(("\n", " ", "\n\n"))
        while len(text) < length:
            e = rng.choice(rng.choice(kinds))
            text += gap if text else ""
            spans += [(kind, len(text) + begin, len(text) + end) for kind, begin, end in e["spans"]]
            text += e["text"]
        yield example("pii", text, spans=spans, share=float(held), origin="joined")


def among_passages(data, examples, count, held, seed=1):
    """Puts each example into the middle of a passage. The passage is excluded from training, because its personal data is
    not labelled."""
    rng = random.Random(seed)
    passages = Cutter(data, rng)
    for e in rng.sample(examples, count):
        before, behind = (passages.cut(rng.randint(40, 700)) for _ in range(2))
        gap = rng.choice(("\n\n", "\n", " "))
        begin = len(before + gap)
        end = begin + len(e["text"])
        spans = [(None, 0, begin)] + [(kind, begin + first, begin + past) for kind, first, past in e["spans"]]
        text = before + gap + e["text"] + gap + behind
        yield example("pii", text, spans=spans + [(None, end, len(text))], share=float(held), origin="in-passage")


def refilled(examples, times, seed=1):
    """Yields the same sentences with other values, taken from sentences with a value of the same type."""
    rng, values = random.Random(seed), {}
    for e in examples:
        for kind, begin, end in e["spans"]:
            values.setdefault(kind, []).append(e["text"][begin:end])
    for e in examples * times:
        text, spans, done = "", [], 0
        for kind, begin, end in sorted(e["spans"], key=lambda span: span[1]):
            text += e["text"][done:begin]
            value = rng.choice(values[kind])
            spans.append((kind, len(text), len(text) + len(value)))
            text, done = text + value, end
        if spans:
            yield example("pii", text + e["text"][done:], spans=spans, share=0, origin=e["origin"] + "-refilled")


def fact_check(data):
    names = LABELS["fact-check"]
    for row in generated("fact_check", 4000):
        needed = "no" not in row["label"].lower().split("_")[0]
        yield example("fact-check", row["text"], names[needed], origin="generated")
    for row in sample(json.load(open(data / "more" / "claimbuster" / "two_class_train.json")), 3000):
        yield example("fact-check", row["text"], names[int(row["label"])], origin="claimbuster")
    with open(data / "more" / "truthfulqa" / "TruthfulQA.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield example("fact-check", row["Question"], names[1], origin="truthfulqa")


def feedback(data):
    for row in generated("feedback", 3000):
        yield example("feedback", row["text"], upstream_feedback(row["label"]), origin="generated")


def upstream_feedback(label):
    return {"satisfied": "SAT", "need_clarification": "NEED_CLARIFICATION", "wrong_answer": "WRONG_ANSWER",
            "want_different": "WANT_DIFFERENT"}.get(label, label)


def modality(data):
    for row in generated("modality", 3000):
        yield example("modality", row["text"], row["label"], origin="generated")
    for text in everyday(data, 600):
        yield example("modality", text, "AR", origin="everyday")


def nli(data):
    names = LABELS["nli"]
    more = data / "more"

    def table(path, premise, hypothesis, label, origin, share, delimiter="\t"):
        with open(path, encoding="utf-8-sig", newline="") as file:
            quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
            for row in csv.DictReader(file, delimiter=delimiter, quoting=quoting):
                name = row[label]
                name = names[int(name)] if name in ("0", "1", "2") else name
                if name in names and row[premise] and row[hypothesis]:
                    yield example("nli", row[premise].strip('"'), name, pair=row[hypothesis].strip('"'), origin=origin,
                                  share=share)

    yield from table(more / "snli" / "becel_snli_validation.tsv", "premise", "hypothesis", "label", "snli", 0.1)
    yield from table(more / "snli" / "becel_snli_negational.tsv", "premise", "hypothesis_neg", "neg_label", "snli-neg",
                     0.1)
    yield from table(more / "nli" / "mnli" / "dev.csv", "premise", "hypothesis", "label", "mnli", 0.05, ",")
    yield from sample(table(more / "conjnli" / "adversarial_train_15k.tsv", "Premise", "Hypothesis", "Label", "conjnli",
                            0.05), 9000)
    yield from sample(table(more / "med" / "MED.tsv", "sentence1", "sentence2", "gold_label", "med", 0.05), 4000)
    for name in ("and", "or"):
        yield from sample(table(more / "help" / f"leskexppmb_{name}.tsv", "ori_sentence", "new_sentence", "gold_label", "help",
                                0.05), 2000)
    for e in table(more / "nli" / "mpe" / "train.csv", "premise", "hypothesis", "label", "mpe", 0.05, ","):
        captions = [text.strip() for text in re.split(r"\d+jpg\d+", e["text"]) if text.strip()]
        yield e | {"text": ". ".join(captions) + "."}
    with open(more / "nli" / "scitail" / "dev.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):  # its pairs that do not follow are about the same thing, and neutral
            name = "entailment" if row["label"] == "entailment" else "neutral"
            yield example("nli", row["premise"], name, pair=row["hypothesis"], origin="scitail", share=0.1)
    for row in generated("nli_numbers", 5000):
        yield example("nli", row["text"], row["label"], pair=row["pair"], origin="generated")


def hallucination(data):
    for row in generated("hallucination", 6000):
        spans = [("HALLUCINATION", s["start"], s["end"]) for s in row["spans"]]
        context = row["context"] + "\n" + row["question"]
        yield example("hallucination", context, pair=row["answer"], spans=spans, origin="generated")
    # These questions have no context, so they show what can be detected from the answer alone.
    for row in json_lines(data / "halueval_general.jsonl"):
        text, marked = row["response"], [span.strip() for span in row["spans"]]
        if (row["hallucination"] == "yes") == bool(marked) and all(span in text for span in marked):
            spans = [("HALLUCINATION", text.index(span), text.index(span) + len(span)) for span in marked]
            yield example("hallucination", row["query"], pair=text, spans=spans, share=0.2, origin="halueval")


TASKS = {"domain": domain, "jailbreak": jailbreak, "pii": pii, "fact-check": fact_check, "feedback": feedback,
         "modality": modality, "nli": nli, "hallucination": hallucination}
