#!/usr/bin/env python3
# Tests of the text generators in tools/train/generate: python3 tests/tools/generate_text_test.py
"""Checks the properties that training relies on: a seed fixes every byte, only the declared labels occur, and all of
them do, texts are short and long, spans lie inside the answer, and every list that an entry names exists."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tools/train/generate"
sys.path.insert(0, str(FOLDER))
import common
import domain_plain

ROWS = 1500
# Each generator: its labels, the member whose length varies, and the lengths that count as short and long.
TASKS = {
    "jailbreak": ({"benign", "jailbreak"}, "text", 50, 800),
    "frames": ({"benign", "jailbreak"}, "text", 30, 300),
    "orders": ({"benign", "injection"}, "text", 280, 700),
    "domain_plain": (set(domain_plain.DOMAINS), "text", 20, 80),
    "fact_check": ({"FACT_CHECK_NEEDED", "NO_FACT_CHECK_NEEDED"}, "text", 25, 110),
    "feedback": ({"SAT", "NEED_CLARIFICATION", "WRONG_ANSWER", "WANT_DIFFERENT"}, "text", 20, 80),
    "modality": ({"AR", "DIFFUSION", "BOTH"}, "text", 25, 110),
    "nli_numbers": ({"entailment", "neutral", "contradiction"}, "text", 80, 400),
    "hallucination": (None, "answer", 80, 200),
}
FILES = {"jailbreak": ("attack", "harm", "innocent", "hard_negative"), "domain": ("domain_asks", "innocent"),
         "fact_check": ("fact_check", "domain_topics"), "feedback": ("feedback", "domain_topics"),
         "modality": ("modality", "innocent"), "facts": ("facts",), "orders": ("orders",), "injections": ("injections",),
         "pretexts": ("pretexts",), "followups": ("followups",), "templates": ("templates",)}
# The names for which a generator supplies values itself.
GIVEN = {"body", "kind", "code", "prose", "cipher", "error", "config", "t", "t2", "user_text", "x", "wish", "lwish", "gerund"}


def run(task, *arguments):
    command = [sys.executable, "-B", FOLDER / f"{task}.py", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def rows_of(output):
    return [json.loads(line) for line in output.decode().splitlines()]


def named(parts):
    """The lists that a parsed entry asks for."""
    for part in parts:
        if isinstance(part, str):
            continue
        choices = part[1]
        if len(choices) == 1 and len(choices[0]) == 1 and isinstance(choices[0][0], str):
            yield choices[0][0].removeprefix("^").split(":")[0]
        else:
            for choice in choices:
                yield from named(choice)


class GenerateTextTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outputs = {task: run(task, "--rows", ROWS, "--seed", 3) for task in TASKS}

    def test_a_seed_fixes_every_byte(self):
        for task, output in self.outputs.items():
            with self.subTest(task):
                self.assertEqual(output, run(task, "--rows", ROWS, "--seed", 3))
                self.assertNotEqual(output, run(task, "--rows", ROWS, "--seed", 4))

    def test_labels_are_the_declared_ones_and_balanced(self):
        for task, (labels, _, _, _) in TASKS.items():
            rows = rows_of(self.outputs[task])
            self.assertEqual(len(rows), ROWS)
            if labels is None:
                continue
            with self.subTest(task):
                counts = {label: sum(row["label"] == label for row in rows) for label in labels}
                self.assertEqual(sum(counts.values()), ROWS)
                self.assertGreater(min(counts.values()), ROWS / len(labels) / 2)

    def test_texts_are_distinct_filled_short_and_long(self):
        for task, (_, key, short, long) in TASKS.items():
            with self.subTest(task):
                texts = [row[key] for row in rows_of(self.outputs[task])]
                self.assertEqual(len(set(texts)), ROWS)
                self.assertTrue(any(len(text) < short for text in texts))
                self.assertTrue(any(len(text) > long for text in texts))
                self.assertFalse([text for text in texts if "\ue000" in text])

    def test_attacks_have_a_type_and_harm_alone_is_none(self):
        rows = rows_of(self.outputs["jailbreak"])
        self.assertEqual({row.get("type") for row in rows if row["label"] == "jailbreak"},
                         {"prompt_injection", "instruction_override", "role_play", "social_engineering"})
        self.assertFalse([row for row in rows if row["label"] == "benign" and "type" in row])

    def test_requests_of_a_file_occur_plainly_and_in_attacks(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as wishes:
            wishes.write("Fold the {forbidden} napkin\n")
            wishes.flush()
            rows = rows_of(run("jailbreak", "--rows", 600, "--wishes", wishes.name))
        found = {row["label"] for row in rows if "{forbidden}" in row["text"]}
        self.assertEqual(found, {"benign", "jailbreak"})

    def test_spans_lie_in_the_answer_and_faithful_answers_occur(self):
        rows = rows_of(self.outputs["hallucination"])
        for row in rows:
            end = 0
            for span in row["spans"]:
                self.assertTrue(end <= span["start"] < span["end"] <= len(row["answer"]), row)
                end = span["end"]
        faithful = sum(not row["spans"] for row in rows)
        self.assertTrue(ROWS / 4 < faithful < ROWS * 3 / 4)

    def test_every_entry_parses_and_names_lists_that_exist(self):
        measures = {"year", "count", "small", "percent", "money", "price", "length", "weight", "temperature", "oven",
                    "duration", "time", "date", "weeks", "years", "hours", "score", "team2", "city2", "orderno"}
        for task, files in FILES.items():
            lists = common.read_lists(*files)
            for entry in (entry for entries in lists.values() for entry in entries):
                for name in named(common.parse(entry)):
                    known = name in lists or name in GIVEN or name in measures or name.startswith("#")
                    self.assertTrue(known, f"{task}: {name!r} in {entry!r}")


if __name__ == "__main__":
    unittest.main()
