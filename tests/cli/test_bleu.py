"""heed bleu: agreement with the definition of sacreBLEU's scores, the paired bootstrap, and every refusal."""

import json
import os
import pathlib
import random
import subprocess
import sys
import unittest

import heed_cli
from heed_cli import BINARY

sys.path.insert(0, str(pathlib.Path(heed_cli.SOURCE) / "tests" / "eval"))
import sacrebleu_oracle as oracle  # noqa: E402

FIGURES = ("bleu", "chrf2", "chrf2pp", "brevity_penalty", "hypothesis_length", "reference_length")
REFERENCES = (["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
              ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."])
HYPOTHESES = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]


def text(lines):
    return "".join(line + "\n" for line in lines)


class BleuTest(heed_cli.CliTest):
    def run_bleu(self, hypotheses, references, *options):
        """The process, for lines or bytes."""
        arguments = []
        for k, reference in enumerate(references):
            content = reference if isinstance(reference, bytes) else text(reference)
            arguments += ["--reference", self.file(f"reference{k}", content)]
        given = hypotheses if isinstance(hypotheses, bytes) else text(hypotheses).encode()
        return subprocess.run([BINARY, "bleu", *map(str, arguments), *map(str, options)], input=given,
                              capture_output=True, timeout=60, env={**os.environ, "LC_ALL": "C"})

    def scores(self, hypotheses, references, *options):
        result = self.run_bleu(hypotheses, references, "--json", *options)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return json.loads(result.stdout)

    def refused(self, result, *mentions):
        self.assertEqual((result.returncode, result.stdout, result.stderr.count(b"\n")), (2, b"", 1), result)
        for mention in mentions:
            self.assertIn(mention, result.stderr.decode())


class Agreement(BleuTest):
    def test_scores_of_nasty_corpora_are_those_of_the_definition(self):
        lines = 0
        for seed in range(300):
            hypotheses, references = oracle.nasty_corpus(seed)
            lines += len(hypotheses)
            lowercase = seed % 2 == 1
            expected = oracle.scores(hypotheses, references, lowercase)
            found = self.scores(hypotheses, references, *(["--lowercase"] if lowercase else []))
            for name in FIGURES:
                self.assertAlmostEqual(found[name], expected[name], delta=1e-9, msg=f"{name}, seed {seed}")
            for a, b in zip(found["precisions"], expected["precisions"]):
                self.assertAlmostEqual(a, b, delta=1e-9, msg=f"precisions, seed {seed}")
        self.assertGreater(lines, 2000)

    def test_scores_are_the_published_figures(self):
        # sacreBLEU's README and test/test_bleu.py.
        found = self.scores(HYPOTHESES, REFERENCES)
        self.assertAlmostEqual(found["bleu"], 48.530827, delta=1e-6)
        self.assertEqual(found["signature"].rsplit("|", 1)[0], "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp")
        self.assertEqual(self.scores(["", "", ""], REFERENCES)["bleu"], 0.0)

    def test_scores_of_real_text_are_those_of_the_definition(self):
        folder = pathlib.Path(os.environ.get("HEED_DATA", heed_cli.SOURCE.parent / "shared" / "data")) / "multi30k"
        if not (folder / "test2016.en").exists():
            self.skipTest(f"no {folder}")
        reference = (folder / "test2016.en").read_text(encoding="utf-8").splitlines()
        draw = random.Random(5)
        hypotheses = [oracle.disturbed(draw, line) for line in reference]
        expected = oracle.scores(hypotheses, [reference])
        found = self.scores(hypotheses, [reference])
        for name in FIGURES:
            self.assertAlmostEqual(found[name], expected[name], delta=1e-9, msg=name)
        self.assertTrue(30 < found["bleu"] < 95, found)


class Report(BleuTest):
    def test_a_perfect_translation_scores_100(self):
        found = self.scores(REFERENCES[0], REFERENCES[:1])
        for name in ("bleu", "chrf2", "chrf2pp"):
            self.assertAlmostEqual(found[name], 100.0, delta=1e-9)
        self.assertEqual(found["sentences"], 3)

    def test_signatures_say_what_was_asked_for(self):
        found = self.scores(HYPOTHESES, REFERENCES[:1], "--lowercase")
        version = heed_cli.heed("--version").stdout.split()[1]
        self.assertEqual(found["signature"], f"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:heed-{version}")
        self.assertEqual(found["chrf2_signature"],
                         f"nrefs:1|case:lc|eff:yes|nc:6|nw:0|space:no|version:heed-{version}")
        self.assertIn("|nw:2|", found["chrf2pp_signature"])
        some_blank = [["", "a b"], ["a b", "a b"]]
        self.assertIn("nrefs:var|", self.scores(["a b", "a b"], some_blank)["signature"])

    def test_without_json_it_prints_a_table(self):
        result = self.run_bleu(HYPOTHESES, REFERENCES)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertRegex(result.stdout.decode(), r"(?m)^BLEU +48\.53 .*\(BP 0\.943, 17 words for 18")
        self.assertRegex(result.stdout.decode(), r"(?m)^chrF2\+\+ +\d+\.\d\d$")
        self.assertRegex(result.stdout.decode(), r"(?m)^BLEU +nrefs:2\|case:mixed")

    def test_line_ends_do_not_matter(self):
        plain = self.scores(HYPOTHESES, REFERENCES)
        dos = self.scores("\r\n".join(HYPOTHESES).encode(), ["\r\n".join(r).encode() + b"\r\n" for r in REFERENCES])
        self.assertEqual(plain, dos)


class PairedBootstrap(BleuTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        self.reference = [" ".join(draw.choice("abcdefgh") for _ in range(12)) for _ in range(120)]
        self.worse = [oracle.disturbed(draw, line) for line in self.reference]
        for _ in range(2):
            self.worst = [oracle.disturbed(draw, line) for line in self.worse]
        self.same_size = [oracle.disturbed(draw, line) for line in self.reference]

    def compare(self, system, baseline, *options):
        found = self.scores(system, [self.reference], "--paired-bootstrap",
                            self.file("baseline", text(baseline)), *options)
        return found, {c["metric"]: c for c in found["paired_bootstrap"]}

    def test_a_real_difference_is_told_from_chance(self):
        found, comparisons = self.compare(self.worse, self.worst)
        self.assertEqual(list(comparisons), ["BLEU", "chrF2", "chrF2++"])
        for comparison in comparisons.values():
            self.assertLess(comparison["p_value"], 0.01)
            for side in (comparison["system"], comparison["baseline"]):
                self.assertLess(side["low"], side["score"])
                self.assertLess(side["score"], side["high"])
                self.assertLess(abs(side["mean"] - side["score"]), 0.25 * (side["high"] - side["low"]))
            self.assertGreater(comparison["system"]["low"], comparison["baseline"]["score"])
        self.assertEqual(comparisons["BLEU"]["system"]["score"], found["bleu"])
        self.assertIn("nrefs:1|bs:1000|seed:12345|case:mixed", found["signature"])
        _, comparisons = self.compare(self.worse, self.same_size)
        self.assertGreater(comparisons["BLEU"]["p_value"], 0.05)

    def test_samples_are_repeatable_and_follow_the_seed(self):
        first = self.compare(self.worse, self.worst)
        self.assertEqual(first, self.compare(self.worse, self.worst))
        self.assertNotEqual(first[1], self.compare(self.worse, self.worst, "--seed", 7)[1])

    def test_a_system_does_not_differ_from_itself(self):
        _, comparisons = self.compare(self.worse, self.worse, "--samples", 99)
        for comparison in comparisons.values():
            self.assertEqual(comparison["system"], comparison["baseline"])
            self.assertEqual(comparison["p_value"], 1.0)

    def test_without_json_it_prints_a_table(self):
        baseline = self.file("baseline", text(self.worst))
        result = self.run_bleu(self.worse, [self.reference], "--paired-bootstrap", baseline)
        self.assertRegex(result.stdout.decode(), r"(?m)^chrF2\+\+ +system +\d+\.\d\d +mean .*95% within")
        self.assertRegex(result.stdout.decode(), r"(?m)^ +p = 0\.00\d\d$")


class Refusals(BleuTest):
    def test_different_numbers_of_lines_name_both(self):
        self.refused(self.run_bleu(HYPOTHESES[:2], REFERENCES[:1]), "reference0: 3 lines, but 2 lines of hypotheses")
        self.refused(self.run_bleu(HYPOTHESES, [REFERENCES[0], ["one"]]), "reference1: 1 lines, but 3 lines")
        self.refused(self.run_bleu(HYPOTHESES, REFERENCES, "--paired-bootstrap", self.file("b", "one\n")),
                     "/b: 1 lines, but 3 lines")

    def test_text_that_is_not_utf8_is_named_with_file_and_line(self):
        self.refused(self.run_bleu(b"a\nb\nc \xff d\n", REFERENCES), "stdin:3: byte 3 of the line is not UTF-8")
        self.refused(self.run_bleu(HYPOTHESES, [b"a\n\xc3\nb\n"]), "reference0:2: byte 1 of the line is not UTF-8")

    def test_input_without_lines_is_refused(self):
        self.refused(self.run_bleu(b"", [b""]), "no lines")

    def test_missing_files_are_named(self):
        absent = self.path / "absent"
        self.refused(self.run_bleu(HYPOTHESES, [], "--reference", absent), "absent", "No such file")
        self.refused(self.run_bleu(HYPOTHESES, REFERENCES, "--paired-bootstrap", absent), "absent", "No such file")

    def test_a_missing_reference_is_asked_for(self):
        self.refused(self.run_bleu(HYPOTHESES, []), "--reference")

    def test_numbers_that_make_no_sense_are_refused(self):
        self.refused(self.run_bleu(HYPOTHESES, REFERENCES, "--samples", "0", "--paired-bootstrap",
                                   self.file("b", text(HYPOTHESES))), "0 samples, expected 1 to 1000000")
        self.refused(self.run_bleu(HYPOTHESES, REFERENCES, "--samples", "9999999999", "--paired-bootstrap",
                                   self.file("b", text(HYPOTHESES))), "9999999999 samples")
        for option in ("--samples", "--seed"):
            self.refused(self.run_bleu(HYPOTHESES, REFERENCES, option, "9"), f"{option} needs --paired-bootstrap")
        self.refused(self.run_bleu(HYPOTHESES, REFERENCES, "--seed", "x"), "--seed")


if __name__ == "__main__":
    unittest.main()
