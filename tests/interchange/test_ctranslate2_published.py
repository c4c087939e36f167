#!/usr/bin/env python3
"""What CTranslate2's own tests expect of its published transliteration model, from Arabic to Latin letters.

Skipped where the model is not there: ../shared/data/ct2-transliteration, or in the folder that HEED_DATA names.
"""

import os
import pathlib
import sys
import unittest

from heed_cli import CliTest, heed

DATA = pathlib.Path(os.environ.get("HEED_DATA", pathlib.Path(os.environ["HEED_SOURCE_DIR"]) / ".." / "shared" / "data"))
MODEL = DATA / "ct2-transliteration"
ATZMON, ACHISON, AZZA, ULISES = "آ ت ز م و ن", "آ ت ش ي س و ن", "آ ز ا", "أ و ل ي س س"
BEAMS = (1, 4)


class PublishedModelTest(CliTest):
    def answer(self, command, *options, **more):
        result = heed(command, "--model", MODEL, "--precision", "f32", *options, **more)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def translated(self, sources, *options):
        """The answer's lines; sources are separated by line ends."""
        return self.answer("translate", *options, text=sources + "\n").splitlines()

    def test_translations(self):
        for beam in BEAMS:
            self.assertEqual(self.translated(f"{ATZMON}\n{ACHISON}\n{AZZA}", "--beam", beam),
                             ["a t z m o n", "a c h i s o n", "a z z a"])

    def test_scores_of_a_given_target(self):
        source, target = self.path / "source", self.path / "target"
        source.write_text(ATZMON + "\n")
        target.write_text("a t z m o n\n")
        out = self.answer("score", "--source", source, "--target", target)
        self.assertAlmostEqual(float(out.split()[0]), -1.06175, delta=1e-4)

    def test_every_hypothesis_of_the_beam_may_be_asked_for(self):
        found = self.translated(ATZMON, "--beam", 4, "--n-best", 4)
        self.assertEqual(len(found), 4)
        self.assertIn("a t z m o n", found[0])
        self.assertEqual(len(set(found)), 4)

    def test_prefixes(self):
        prefixes = self.path / "prefixes"
        prefixes.write_text("a t s\n\na t z o\n\n")
        for beam in BEAMS:
            self.assertEqual(self.translated("\n".join((ATZMON, ATZMON, ATZMON, AZZA)), "--beam", beam, "--prefixes", prefixes),
                             ["a t s u m o n", "a t z m o n", "a t z o m o n", "a z z a"])
        # Its end is among the likeliest tokens of the first free step.
        self.assertEqual(self.translated(ULISES, "--beam", 5, "--prefix", "u l i s e"), ["u l i s e s"])

    def alternatives(self, source, number, *options):
        return [line.split(" ||| ")[1] for line in self.translated(source, "--alternatives", number, "--beam", 2, *options)]

    def test_alternatives(self):
        found = self.alternatives(ATZMON, 10, "--prefix", "a t")
        self.assertEqual(found[:2], ["a t z m o n", "a t s u m o n"])
        self.assertEqual(len(found), 10)
        self.assertEqual(len({text.split()[2] if len(text.split()) > 2 else "" for text in found}), 10)
        self.assertEqual(self.alternatives(AZZA, 10, "--prefix", "a")[:2], ["a z z a", "a s z a"])
        self.assertEqual(self.alternatives(ATZMON, 10)[:2], ["a t z m o n", "e t z m o n"])
        self.assertEqual(self.alternatives(AZZA, 10)[:2], ["a z z a", "e z z a"])
        # heed's first one is that nothing follows.
        self.assertEqual(self.alternatives(ATZMON, 4, "--prefix", "a t z m o n")[:2], ["a t z m o n", "a t z m o n e"])

    def test_lengths(self):  # which include the end here
        for beam in BEAMS:
            self.assertEqual(self.translated(ATZMON, "--beam", beam, "--max-tokens", 3), ["a t"])
            self.assertGreater(len(self.translated(ATZMON, "--beam", beam, "--min-tokens", 8)[0].split()), 6)

    def test_no_three_letters_come_twice(self):
        for beam in BEAMS:
            letters = self.translated(" ".join("ن" * 50), "--beam", beam, "--no-repeat-ngram", 3)[0].split()
            triples = list(zip(letters, letters[1:], letters[2:]))
            self.assertEqual(len(set(triples)), len(triples))


if __name__ == "__main__":
    if not MODEL.exists():
        print(f"skipped: there is no {MODEL}")
        sys.exit(77)
    unittest.main()
