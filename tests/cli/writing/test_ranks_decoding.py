#!/usr/bin/env python3
"""heed translate, generate and evaluate as several ranks: the same bytes as from one process."""

import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

from heed_cli import BINARY, CliTest, heed
from mpirun import ended, lines_of_heed, skip_without_mpi, start

WORDS = "ein der die das kind hund mann frau ball park fahrrad sofa läuft spielt schläft trinkt wasser rot blau grün im auf mit".split()


def texts(lines):
    draw = random.Random(1)
    return "".join(" ".join(draw.choices(WORDS, k=draw.randint(0, 12))) + "\n" for _ in range(lines))


class RanksDecodingTest(CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.models = pathlib.Path(folder.name)
        for name, architecture in (("translator", "seq2seq"), ("generator", "causal-lm")):
            subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.models / name, f"architecture={architecture}", "scale=3"], check=True)
        cls.translator, cls.generator = cls.models / "translator", cls.models / "generator"

    def as_ranks(self, ranks, *arguments):
        status, out, err = ended(start(ranks, BINARY, *arguments))
        self.assertEqual((status, err), (0, ""))
        return out

    def alone(self, *arguments):
        result = heed(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def assert_refused_by_ranks(self, line, *arguments):
        status, out, err = ended(start(2, BINARY, *arguments))
        self.assertEqual((status, out, lines_of_heed(err)), (2, "", [line]), err)

    def test_translations_are_the_same_bytes(self):
        source = self.file("source", texts(600))
        for options in ((), ("--beam", "3", "--n-best", "2", "--max-tokens", "20"), ("--scores", "--prefixes", self.file("prefixes", texts(600)))):
            expected = self.alone("translate", "--model", self.translator, "--input", source, *options)
            self.assertEqual(len(set(expected.splitlines())) > 100, True)
            for ranks in (2, 4):
                self.assertEqual(self.as_ranks(ranks, "translate", "--model", self.translator, "--input", source, *options), expected)
                found = self.path / "found"
                self.assertEqual(self.as_ranks(ranks, "translate", "--model", self.translator, "--input", source, "--out", found, *options), "")
                self.assertEqual(found.read_text(), expected)

    def test_a_file_gives_what_standard_input_gives(self):
        source = texts(30)
        expected = heed("translate", "--model", self.translator, text=source).stdout
        self.assertEqual(self.alone("translate", "--model", self.translator, "--input", self.file("source", source)), expected)
        self.assertEqual(self.alone("translate", "--model", self.translator, "--input", self.file("source", source), "--out",
                                    self.path / "found"), "")
        self.assertEqual((self.path / "found").read_text(), expected)

    def test_no_lines_become_an_empty_file(self):
        self.as_ranks(2, "translate", "--model", self.translator, "--input", self.file("source", ""), "--out", self.path / "found")
        self.assertEqual((self.path / "found").read_text(), "")

    def test_generated_texts_are_the_same_bytes(self):
        prompts = self.file("prompts", texts(300))
        arguments = ("generate", "--model", self.generator, "--prompts", prompts, "--n", "2", "--max-tokens", "8", "--json")
        expected = self.alone(*arguments)
        self.assertEqual(expected.count("\n"), 600)
        for ranks in (2, 4):
            self.assertEqual(self.as_ranks(ranks, *arguments), expected)

    def test_evaluation_has_the_same_scores_and_translations(self):
        source, reference = self.file("source", texts(300)), self.file("reference", texts(300))
        found = []
        for run, output in ((self.alone, "one"), (lambda *arguments: self.as_ranks(2, *arguments), "two")):
            report = json.loads(run("evaluate", "--model", self.translator, "--source", source, "--reference", reference, "--out",
                                    self.path / output, "--json"))
            for timed in ("seconds", "sentences_per_second", "target_tokens_per_second", "threads"):
                self.assertGreater(report.pop(timed), 0)
            found.append((report, (self.path / output).read_text()))
        self.assertEqual(*found)

    def test_a_bad_line_is_named_once_and_leaves_no_file(self):
        source = self.file("source", texts(300).encode() + b"\xff\n")
        self.assert_refused_by_ranks(f"heed: {source}:301: byte 1 of the line is not UTF-8", "translate", "--model", self.translator, "--input", source,
                                     "--out", self.path / "found")
        self.assertFalse((self.path / "found").exists())

    def test_the_output_must_be_another_file(self):
        source = self.file("source", "ein\n")
        refusal = self.assert_refused("translate", "--model", self.translator, "--input", source, "--out", source)
        self.assertIn(str(source), refusal)
        self.assertEqual(source.read_text(), "ein\n")

    def test_standard_input_is_refused(self):
        self.assert_refused_by_ranks("heed: translate: several ranks need --input FILE: only one of them receives standard input",
                                     "translate", "--model", self.translator)
        self.assert_refused_by_ranks("heed: generate: several ranks need --prompts FILE, whose lines they share out",
                                     "generate", "--model", self.generator)

    def test_commands_of_one_process_are_refused(self):
        self.assert_refused_by_ranks("heed: heed tokenizer inspect runs in one process, but was started as 2 ranks",
                                     "tokenizer", "inspect", "--model", self.translator / "source.tokenizer")

    def test_help_is_shown_once(self):
        self.assertEqual(self.as_ranks(3, "translate", "--help"), self.alone("translate", "--help"))


if __name__ == "__main__":
    skip_without_mpi()
    unittest.main()
