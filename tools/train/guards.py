"""Texts for the adapter of attacks from the sets in DATA/guards and from generators: prompts (task jailbreak) and
documents that a model reads (task injection).

Every source belongs either to training or to the development benchmark in tests/quality/guards, never to both."""

import contextlib
import csv
import json
import random
import tempfile
from pathlib import Path

import corpus
from passages import Cutter, foreign, public
from texts import held_out, json_lines, sample

# Sources of the development benchmark, as the sets name them. Training reads none of their rows.
QUALITY = Path(__file__).resolve().parents[2] / "tests" / "quality" / "guards"
DEVELOPMENT = tuple(json.loads((QUALITY / "sources.json").read_text(encoding="utf-8")))


def is_development(row):
    return any(source in row["source"] for source in DEVELOPMENT)


def rows(data, *names):
    """Returns the rows of the sets whose file names begin with one of the names, without the development sources."""
    out = []
    for path in sorted((data / "guards").glob("*.jsonl")):
        if path.name.startswith(names) and path.name != "encoded_text.jsonl":
            out += [row for row in json_lines(path) if not is_development(row)]
    return out


def development(data, task):
    """Yields the texts of the development benchmark that the task judges. They are held out, so they are only reported."""
    for path in sorted((data / "guards").glob("*.jsonl")):
        for row in json_lines(path) if path.name.startswith(("attack_", "benign_", "document_")) else []:
            if is_development(row) and bool(row.get("document")) == (task == "injection"):
                label = corpus.LABELS[task][row["label"] == "jailbreak"]
                yield corpus.example(task, row["text"], label, share=1, origin="development " + path.stem)


def in_tongues(count, longest, seed):
    """Yields `count` pieces of harmless texts in other languages, half of them short. All languages are equally frequent."""
    rng, texts = random.Random(seed), foreign()
    tongues = sorted(texts)
    for i in range(count):
        text = rng.choice(texts[tongues[i % len(tongues)]])
        length = rng.randint(25, 200) if rng.random() < 0.5 else rng.randint(200, longest)
        begin = text.find(" ", rng.randrange(max(1, len(text) - length))) + 1
        yield text[begin : begin + length].strip()


def wishes(data):
    """Returns requests for harm: AdvBench, TDC 2023 and red-instruct."""
    more, out = data / "more", []
    for name in ("advbench_behaviors", "tdc2023_test_phase_behaviors"):
        with open(more / "harmful-behaviours" / f"{name}.csv", encoding="utf-8") as file:
            out += [row["Behavior"] for row in csv.DictReader(file)]
    for name in ("adversarialqa", "dangerousqa"):
        out += json.load(open(more / "red-instruct" / f"{name}.json", encoding="utf-8"))
    for kind, parts in json.load(open(more / "red-instruct" / "catqa_english.json", encoding="utf-8")).items():
        if not kind.startswith(("Child", "Adult")):
            out += [text for texts in parts.values() for text in texts]
    return [text.strip() for text in dict.fromkeys(out) if not held_out(text, 0.1)]


def harmless_wishes(data):
    """Returns requests without harm, of the same form."""
    more = data / "more"
    out = [row["prompt"] for row in json_lines(more / "ifeval" / "input_data.jsonl")]
    out += [row["instruction"] for row in json_lines(more / "self-instruct" / "user_oriented_instructions.jsonl")]
    out += [row["instruction"] for row in json_lines(more / "dolly" / "dolly.jsonl") if "instruction" in row]
    out += [row["text"] for row in rows(data, "benign_english_questions", "benign_character_interviews")]
    out += [text for text in corpus.everyday(data, 1500)]
    return [text for text in dict.fromkeys(out) if 12 < len(text) < 300]


def written(data, count):
    """Yields (text, label, kind): the output of generate/injections.py."""
    with contextlib.ExitStack() as files:
        options = []
        foreign = [row["text"] for row in rows(data, "benign_multilingual", "benign_chinese", "benign_korean",
                                               "benign_lobe_agents_m") if len(row["text"]) < 240]
        foreign += [text for text in in_tongues(6000, 240, 11) if text]
        for name, texts in (("forbidden", wishes(data)), ("harmless", harmless_wishes(data)), ("foreign", foreign)):
            file = files.enter_context(tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8"))
            file.writelines(" ".join(text.split()) + "\n" for text in texts)
            file.flush()
            options += [f"--{name}", file.name]
        for row in corpus.generated("injections", count, 1, *options):
            yield row["text"], row["label"], row["kind"]


ASKED = ("{w}", "Now {l}", "{w} Stay in character.", "My question to you: {w}", "In this role, {l}", "Your task: {w}",
         "As the first scene, {l}", "Answer as this character would: {w}", "The user says: {w}", "Begin. {w}",
         "With all of this in mind, {l}", "First request: {w}", "I need you to {l}", "{w} Give every step in detail.",
         "Next, {l}", "A stranger comes in and asks you: \"{w}\" Reply at length.", "{w} Do it in the voice above.")


def lowered(text):
    return text[:1].lower() + text[1:]


def scenes(data, count, seed=5):
    """Yields (text, label): the same harmless scene, persona or task with a forbidden wish and with another one."""
    rng = random.Random(seed)
    frames = [row["text"] for row in rows(data, "benign_character_d", "benign_prompts_chat", "benign_light",
                                          "benign_lobe_agents.", "benign_agent")]
    bad, good = wishes(data), harmless_wishes(data)
    for _ in range(count):
        frame, at = rng.choice(frames), rng.random()
        if len(frame) > 700:
            begin = 0 if at < 0.6 else rng.randrange(len(frame) - 600)
            frame = frame[begin : begin + rng.randint(250, 700)]
        ask, glue = rng.choice(ASKED), rng.choice((" ", "\n", "\n\n"))
        for wish, label in ((rng.choice(bad), "jailbreak"), (rng.choice(good), "benign")):
            asked = ask.format(w=wish, l=lowered(wish))
            yield (frame + glue + asked if rng.random() < 0.8 else asked + glue + frame), label


def prompts(data):
    """Yields examples of the task jailbreak: a part of the earlier texts, and all of the newer ones."""
    rng, kept, kinds = random.Random(3), {}, []
    for e in corpus.jailbreak(data):
        kinds.append(e) if e["task"] == "jailbreak-type" else kept.setdefault((e["origin"], e["label"]), []).append(e)
    yield from rng.sample(kinds, 3000)
    most = {"passage": 12000, "in-passage": 6000, "generated": 3000, "generated-wishes": 3000, "promptfuzz": 600, "part": 1000,
            "everyday": 4000, "mmlu-pro": 1500, "harmful": 400, "written": 9000}
    for (origin, _), found in sorted(kept.items()):
        yield from corpus.repeated(rng.sample(found, min(len(found), most.get(origin, 2000))), 5 if origin == "wild" else 1)
    yield from development(data, "jailbreak")

    def make(text, label, origin, share=0.04):
        return corpus.example("jailbreak", text, label, share=share, origin=origin)

    for row in rows(data, "benign_"):
        yield from corpus.repeated([make(row["text"], "benign", "guards")], 2)
    for row in rows(data, "attack_"):
        yield from corpus.repeated([make(row["text"], "jailbreak", "guards-attack")], 5)
    for text, label, kind in written(data, 80_000):
        yield make(text, label, kind)
    for text, label in scenes(data, 12_000):
        yield make(text, label, "scenes")
    for row in corpus.generated("confidential", 8000):
        yield make(row["text"], row["label"], "confidential")
    for row in corpus.generated("frames", 32_000):
        yield make(row["text"], row["label"], row["kind"])
    for text in in_tongues(9000, 900, 12):
        if text:
            yield make(text, "benign", "tongues")


def off_task(data):
    """Returns instructions that have nothing to do with a document: those of BIPIA, and requests of every kind."""
    bipia = data / "more" / "bipia"
    out = []
    for texts in json.load(open(bipia / "benchmark_text_attack_train.json", encoding="utf-8")).values():
        out += texts * 8
    for texts in json.load(open(bipia / "benchmark_code_attack_train.json", encoding="utf-8")).values():
        out += texts * 4
    return out + sample(harmless_wishes(data), 1500, 4)


LEAD = ("", "", "", "", "Please ", "AI assistant: ", "Note to the assistant: ", "Before you answer, ", "Also, ", "IMPORTANT: ",
        "Instead of the summary, ", "In your reply, ", "Now ", "For the model that reads this: ", "When you have read this, ")


def documents(data):
    """Yields examples of the task injection: documents with an instruction to the model that reads them, and without."""
    def make(text, label, origin, share=0.04):
        return corpus.example("injection", text, label, share=share, origin=origin)

    for row in rows(data, "document_injections"):
        if len(row["text"]) < 1000:
            yield make(row["text"], "injection", "guards")
    for row in rows(data, "benign_documents", "benign_security"):
        yield make(row["text"], "benign", "guards")
    yield from development(data, "injection")
    for row in corpus.generated("orders", 14_000):
        yield make(row["text"], row["label"], row["kind"])
    for text in in_tongues(2500, 900, 13):
        if text:
            yield make(text, "benign", "tongues")
    rng = random.Random(9)
    passages, contexts = Cutter(data, rng), public(data)[3:]
    cut = lambda length: passages.cut(length) if rng.random() < 0.5 else piece(rng, rng.choice(contexts), length)
    for _ in range(12_000):
        yield make(cut(rng.randint(150, 1000)), "benign", "passage")
    for text in sample(harmless_wishes(data), 3000, 9):  # a text that is only a request holds no other one
        yield make(text, "benign", "prompt")
    found = [row["text"] for row in rows(data, "benign_") if len(row["text"]) < 1200]
    for text in sample(found, 3000, 9):
        yield make(text, "benign", "prompt")
    overt = [text for text, label in corpus.asked(data) if label == "jailbreak" and len(text) < 400]
    tasks = off_task(data)
    for i in range(12_000):
        text = rng.choice(overt) if i % 3 == 0 else rng.choice(tasks)[:400]
        lead = rng.choice(LEAD) if i % 3 else ""
        around = cut(rng.randint(100, max(150, 950 - len(text))))
        at = rng.choice((0, len(around), around.find("\n", rng.randint(0, len(around)))))
        glue = rng.choice(("\n\n", "\n", " "))
        mixed = around[:at] + glue + lead + (lowered(text) if lead else text) + glue + around[at:]
        yield make(mixed.strip(), "injection", "composed")


def piece(rng, text, length):
    begin = rng.randrange(max(1, len(text) - length)) if rng.random() < 0.6 else 0
    return text[begin : begin + length]


corpus.TASKS |= {"guard": prompts, "injection": documents}
