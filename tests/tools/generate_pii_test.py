#!/usr/bin/env python3
# Tests of tools/train/generate/pii.py: python3 tests/tools/generate_pii_test.py
"""Checks the properties that training relies on: the same seed gives the same bytes, spans have the right positions,
numbers with check digits are valid, every type and kind occurs, and no slot is left unfilled."""

import ipaddress
import json
import pathlib
import subprocess
import sys
import unittest
from collections import Counter

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/train/generate/pii.py"
sys.path.insert(0, str(SCRIPT.parent))
import pii

ROWS = 4000


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *map(str, arguments)], check=True, capture_output=True).stdout


def passes_luhn(number):
    digits = [int(c) for c in reversed(number)]
    return sum(digits[0::2]) % 10 == -sum(sum(divmod(2 * d, 10)) for d in digits[1::2]) % 10


class PiiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.output = run("--rows", ROWS, "--seed", 3)
        cls.rows = [json.loads(line) for line in cls.output.decode().splitlines()]
        cls.values = {}
        for row in cls.rows:
            for entity in row["entities"]:
                cls.values.setdefault(entity["type"], []).append(entity["value"])

    def test_a_seed_fixes_every_byte(self):
        self.assertEqual(self.output, run("--rows", ROWS, "--seed", 3))
        self.assertNotEqual(self.output, run("--rows", ROWS, "--seed", 4))

    def test_a_row_is_a_text_with_sorted_spans_that_do_not_overlap(self):
        self.assertEqual(len(self.rows), ROWS)
        for row in self.rows:
            self.assertEqual(list(row), ["text", "entities", "template"])
            end = 0
            for entity in row["entities"]:
                self.assertEqual(list(entity), ["type", "start", "end", "value"])
                self.assertLessEqual(end, entity["start"], row)
                self.assertLess(entity["start"], entity["end"], row)
                self.assertEqual(row["text"][entity["start"]:entity["end"]], entity["value"])
                self.assertEqual(entity["value"], entity["value"].strip(), row)
                end = entity["end"]

    def test_all_types_occur(self):
        self.assertEqual(set(self.values), set(pii.TYPES))

    def test_numbers_with_check_digits_are_valid(self):
        for card in self.values["CREDIT_CARD"]:
            self.assertTrue(passes_luhn(card.replace(" ", "").replace("-", "")), card)
        for iban in self.values["IBAN_CODE"]:
            plain = iban.replace(" ", "")
            self.assertEqual(int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97, 1, iban)
        for ip in self.values["IP_ADDRESS"]:
            ipaddress.ip_address(ip)

    def test_the_check_can_fail(self):
        self.assertTrue(passes_luhn("4111111111111111"))
        self.assertFalse(passes_luhn("4111111111111112"))

    def test_no_slot_is_left_unfilled(self):
        for row in self.rows:
            self.assertNotIn("{{", row["text"])

    def test_texts_are_not_repeated(self):
        self.assertGreater(len({row["text"] for row in self.rows}), 0.995 * ROWS)

    def test_the_share_of_negatives_is_as_requested(self):
        negatives = sum(not row["entities"] for row in self.rows)
        self.assertAlmostEqual(negatives / ROWS, 0.45, delta=0.02)
        few = [json.loads(line) for line in run("--rows", 2000, "--negatives", 0.1).splitlines()]
        self.assertAlmostEqual(sum(not row["entities"] for row in few) / 2000, 0.1, delta=0.03)

    def test_kinds_are_chosen(self):
        for i, kind in enumerate(pii.KINDS):
            rows = [json.loads(line) for line in run("--rows", 200, "--kinds", kind).splitlines()]
            self.assertEqual({row["template"] // 1000 for row in rows}, {i + 1})
            self.assertEqual(kind == "negatives", not any(row["entities"] for row in rows))

    def test_every_template_can_be_filled(self):
        used = Counter(row["template"] for row in self.rows)
        maker = pii.Maker(1)
        for templates in maker.templates.values():
            for number, template in templates:
                if number not in used:
                    pii.Filler(maker.values).fill(template)

    def test_an_unknown_kind_is_refused(self):
        result = subprocess.run([sys.executable, "-B", SCRIPT, "--kinds", "poems"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn('"poems" is not one of sentences, surroundings, negatives', result.stderr)


if __name__ == "__main__":
    unittest.main()
