"""heed shortlist, and translate and evaluate with what it learned."""

import gzip
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import heed_cli
from heed_cli import heed, run

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
PAIRS = [("ein hund läuft im park .", "a dog runs in the park ."), ("zwei kinder spielen .", "two children play ."),
         ("die frau liest ein buch .", "the woman reads a book ."), ("ein hund spielt .", "a dog plays ."),
         ("das kind liest .", "the child reads ."), ("zwei hunde laufen .", "two dogs run .")] * 5
LINES = ["ein hund läuft .", "zwei frauen lesen ein buch im park .", "", "das kind spielt .", "   ", "hunde spielen ."] * 6

FEW = ["--best", 2, "--frequent", 5]  # so that lines have different candidates, and not all that a search needs


class Shortlist(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = pathlib.Path(folder.name)
        cls.source, cls.target = cls.made / "text.de", cls.made / "text.en.gz"
        cls.source.write_text("".join(source + "\n" for source, _ in PAIRS))
        cls.target.write_bytes(gzip.compress("".join(target + "\n" for _, target in PAIRS).encode()))
        cls.model = cls.make("model", "width=64", "inner=128")

    @classmethod
    def make(cls, name, *arguments):
        subprocess.run([MAKE_MODEL, cls.made / name, "kind=bpe", "vocabulary=400", *arguments], check=True)
        return cls.made / name

    def learn(self, *options, model=None, name="list"):
        file = self.path / name
        result = heed("shortlist", "--model", model or self.model, "--source", self.source, "--target", self.target,
                      "--out", file, *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("30 lines, 30 kept", result.stdout)
        return file

    def translate(self, *options, text="\n".join(LINES) + "\n", model=None):
        result = run("translate", "--model", model or self.model, "--max-tokens", 12, *options, text=text)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def test_the_file_is_the_same_on_any_number_of_threads(self):
        one, two = self.learn("--threads", 1), self.learn("--threads", 2, name="two")
        self.assertEqual(one.read_bytes(), two.read_bytes())

    def test_learning_says_how_much_it_learned(self):
        file = self.path / "list"
        result = heed("shortlist", "--model", self.model, "--source", self.source, "--target", self.target,
                      "--out", file, "--best", 2)
        stored = file.read_bytes()
        tensors = 8 + int.from_bytes(stored[:8], "little")
        begin, end = json.loads(stored[8:tensors])["ends"]["data_offsets"]
        ends = struct.unpack(f"<{(end - begin) // 8}q", stored[tensors + begin:tensors + end])
        tokens = sum(before < after for before, after in zip((0, *ends), ends))
        self.assertIn(f": {ends[-1]} targets of {tokens} source tokens", result.stdout)

    def test_greedy_translations_stay_where_their_tokens_are_in_the_list(self):
        lines = [line for line in LINES if line.strip()]
        plain = self.translate(text="\n".join(lines) + "\n")
        source, target = self.file("own.de", "\n".join(lines) + "\n"), self.file("own.en", plain)
        own = self.path / "own"
        learned = heed("shortlist", "--model", self.model, "--source", source, "--target", target, "--out", own,
                       "--frequent", 1000)
        self.assertEqual(learned.returncode, 0, learned.stderr)
        self.assertEqual(self.translate("--shortlist", own, text=source.read_text()), plain)
        few = self.learn("--best", 1, "--frequent", 0, name="few")
        self.assertNotEqual(self.translate("--shortlist", few, text=source.read_text()), plain)

    def test_a_line_is_translated_the_same_alone_in_every_stored_form(self):
        for weights in (None, "int8", "int4", "bf16", "f16"):
            model = self.model
            if weights:
                model = self.path / weights
                made = heed("quantize", "--model", self.model, "--type", weights, "--out", model)
                self.assertEqual(made.returncode, 0, made.stderr)
            file = self.learn(*FEW, model=model, name=f"list-{weights}")
            for options in (["--scores"], ["--scores", "--beam", 4]):
                options = [*options, "--shortlist", file]
                together = self.translate(*options, model=model).split("\n")
                self.assertEqual(len(together), len(LINES) + 1)
                for line, translated in list(zip(LINES, together))[:6]:
                    self.assertEqual(self.translate(*options, model=model, text=line + "\n"), translated + "\n")

    def test_outputs_may_be_tied_capped_or_without_a_bias(self):
        for arguments in (["model.tie=all"], ["model.tie=none", "model.output_bias=false"], ["model.logit_cap=5.0"]):
            model = self.made / ("model-" + "-".join(arguments))
            self.make(model.name, *arguments)
            file = self.learn(*FEW, model=model, name=model.name)
            together = self.translate("--scores", "--shortlist", file, model=model).split("\n")
            self.assertEqual(self.translate("--scores", "--shortlist", file, model=model, text=LINES[1] + "\n"),
                             together[1] + "\n")

    def test_a_cap_is_applied_before_the_sum_over_the_candidates(self):
        model = self.make("small-cap", "model.logit_cap=0.01")  # makes all candidates about equally likely
        file, line = self.learn(*FEW, model=model), self.file("line", LINES[0] + "\n")
        report = json.loads(heed("evaluate", "--model", model, "--source", line, "--reference", line,
                                 "--shortlist", file, "--max-tokens", 8, "--json").stdout)
        score = self.translate("--scores", "--shortlist", file, model=model, text=line.read_text()).split("\t")[-1]
        self.assertAlmostEqual(float(score), -math.log(report["candidates"]), delta=0.05)

    def test_every_option_of_a_search_works_with_it(self):
        file = self.learn(*FEW)
        for options in (["--n-best", 2, "--beam", 2], ["--groups", 2, "--beam", 4], ["--alternatives", 3],
                        ["--prefix", "a park"], ["--force", "dog", "--beam", 8], ["--min-tokens", 6],
                        ["--no-repeat-ngram", 2], ["--suppress", "a"], ["--unknown", "avoid"], ["--unknown", "copy"],
                        ["--coverage-penalty", 0.2, "--beam", 3], ["--draft", "prompt"]):
            result = run("translate", "--model", self.model, "--max-tokens", 16, "--shortlist", file, *options,
                         text="ein hund läuft im park .\nzwei kinder .\n")
            self.assertEqual(result.returncode, 0, (options, result.stderr))
        self.assertTrue(all(line.startswith("a park") for line in
                            self.translate("--shortlist", file, "--prefix", "a park", text="hund\nbuch\n").splitlines()))
        drafted = run("translate", "--model", self.model, "--max-tokens", 12, "--shortlist", file, "--draft", "prompt",
                      "--draft-tokens", 3, text="\n".join(LINES) + "\n")
        self.assertEqual(drafted.stdout.decode(), self.translate("--shortlist", file))

    def test_evaluate_says_how_many_tokens_a_sentence_had(self):
        file = self.learn("--best", 2, "--frequent", 5)
        reference = self.file("reference", "\n".join(target for _, target in PAIRS) + "\n")
        arguments = ["evaluate", "--model", self.model, "--source", self.source, "--reference", reference, "--max-tokens", 8]
        report = json.loads(heed(*arguments, "--shortlist", file, "--json").stdout)
        self.assertTrue(5 < report["candidates"] < 400, report)
        self.assertIn("tokens a sentence on average", heed(*arguments, "--shortlist", file).stdout)
        self.assertNotIn("candidates", json.loads(heed(*arguments, "--json").stdout))

    def test_it_refuses_what_is_not_a_shortlist_of_this_model(self):
        file = self.learn()
        other = self.make("other", "kind=char", "vocabulary=0")
        evaluate = ["evaluate", "--model", self.model, "--source", self.source, "--reference", self.source, "--shortlist"]
        for command in (["translate", "--model", self.model, "--shortlist"], evaluate):
            damaged = bytearray(file.read_bytes())
            damaged[-1] ^= 1
            self.assert_refused(*command, self.file("damaged", bytes(damaged)), mentions=["damaged", "checksum"])
            self.assert_refused(*command, self.file("short", bytes(damaged[:100])), mentions=["short"])
            self.assert_refused(*command, self.model / "model.safetensors", mentions=["is not a shortlist"])
            self.assert_refused(*command, self.path / "nothing", mentions=["nothing"])
        self.assert_refused("translate", "--model", other, "--shortlist", file,
                            mentions=[str(file), "another source tokenizer"])

    def test_learning_refuses_what_makes_no_sense(self):
        arguments = ["shortlist", "--model", self.model, "--source", self.source, "--out", self.path / "list", "--target"]
        self.assert_refused(*arguments, self.target, "--best", 0, mentions=["expected 1 to 1000"])
        self.assert_refused(*arguments, self.target, "--frequent", -1, mentions=["0 or more"])
        self.assert_refused(*arguments, self.file("shorter", "a\n"), mentions=["has 1 lines"])
        self.assert_refused(*arguments, self.path / "nothing", mentions=["nothing"])
        self.assert_refused("shortlist", "--model", self.make("causal", "architecture=causal-lm"), *arguments[3:],
                            self.target, mentions=["causal"])
        self.assertFalse((self.path / "list").exists())
        self.assert_refused("shortlist", "--model", self.model, "--source", self.source, "--target", self.target, "--out",
                            self.source, mentions=["text.de"])


if __name__ == "__main__":
    unittest.main()
