#!/usr/bin/env python3
# Tests of tools/train/generate/informal.py: python3 tests/tools/generate_informal_test.py
"""Checks the properties that training relies on: a seed fixes every byte, spans have the right positions, handles and the
"#" of a hashtag are in no span, every template can be filled, and names come from the given files."""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/train/generate/informal.py"
sys.path.insert(0, str(SCRIPT.parent))
import informal

ROWS = 3000


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *map(str, arguments)], check=True, capture_output=True).stdout


class InformalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.output = run("--rows", ROWS, "--seed", 3)
        cls.rows = [json.loads(line) for line in cls.output.decode().splitlines()]

    def test_a_seed_fixes_every_byte(self):
        self.assertEqual(self.output, run("--rows", ROWS, "--seed", 3))
        self.assertNotEqual(self.output, run("--rows", ROWS, "--seed", 4))

    def test_spans_are_sorted_and_do_not_overlap(self):
        for row in self.rows:
            end = 0
            for entity in row["entities"]:
                self.assertLessEqual(end, entity["start"], row)
                self.assertLess(entity["start"], entity["end"], row)
                self.assertEqual(row["text"][entity["start"]:entity["end"]], entity["value"])
                self.assertEqual(entity["value"], entity["value"].strip(), row)
                end = entity["end"]

    def test_handles_and_signs_of_hashtags_are_in_no_span(self):
        for row in self.rows:
            for entity in row["entities"]:
                self.assertNotIn(entity["value"][0], "#@", row)
                self.assertFalse(row["text"][:entity["start"]].endswith("@"), row)

    def test_all_types_occur(self):
        self.assertEqual({entity["type"] for row in self.rows for entity in row["entities"]}, set(informal.SLOTS))

    def test_every_template_has_known_slots_and_can_be_filled(self):
        maker = informal.Maker(random.Random(1), (), (), (), ())
        for kind in ("marked", "foreign", "plain"):
            for template in maker.grammar.lists[kind]:
                slots = set(re.findall(r"\[\[(\w+)", template))
                self.assertLessEqual(slots, set(informal.TYPE_OF) | {"handle"}, template)
                self.assertTrue(kind != "plain" or slots <= {"link"}, template)
                text = "".join(piece for piece, _ in maker.fill(maker.grammar.expand(template)))
                self.assertNotRegex(text, r"[\[\]{}|]", template)

    def test_names_come_from_the_given_files(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
            names.write("en_GB\tQuillonby\n")
            names.flush()
            rows = run("--rows", 500, "--first", names.name).decode().lower()
        self.assertIn("quillonby", rows)
        self.assertNotIn("quillonby", self.output.decode().lower())

    def test_a_line_without_a_tab_is_refused(self):
        with self.assertRaisesRegex(ValueError, "line 1 of a file of names has no tab: 'Quillonby'"):
            informal.Names(random.Random(1), ["Quillonby"])

    def test_marks_are_separated_outside_links(self):
        self.assertEqual(informal.tokenized("I can't, @bob's #tag.", False), "I ca n't , @ bob 's # tag . ")


if __name__ == "__main__":
    unittest.main()
