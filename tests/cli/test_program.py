"""The program itself: help, version, and unknown commands and options."""

import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

import heed_cli
from heed_cli import heed

HELP_SECONDS = 0.030
COMMANDS = ("bench", "bleu", "chat", "choose", "classify", "demo", "embed", "evaluate", "export", "fill", "generate",
            "import", "inspect", "merge", "perplexity", "plan", "prepare", "quantize",
            "recipe", "report", "score", "serve", "shortlist",
            "tag", "tokenizer", "train", "translate", "tune")


def is_instrumented():
    """Whether the program has a sanitizer, with which it starts more slowly."""
    cache = pathlib.Path(os.environ["HEED_BINARY"]).parent / "CMakeCache.txt"
    return cache.is_file() and re.search(r"^HEED_SANITIZE:\w+=.+$", cache.read_text(), re.MULTILINE) is not None


def least_seconds(run):
    """Of twenty times."""
    best = float("inf")
    for _ in range(20):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


class Program(heed_cli.CliTest):
    @unittest.skipIf(is_instrumented() or heed_cli.is_emulated(), "instrumented by a sanitizer, or emulated")
    def test_help_comes_at_once(self):
        result = heed("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        # Some virtual machines take 20 microseconds for a page fault, of which any program of this size has hundreds
        # before it begins: there nothing starts within the limit, Python without its site neither.
        python = least_seconds(lambda: subprocess.run([sys.executable, "-S", "-c", ""], check=True))
        self.assertLessEqual(least_seconds(lambda: heed("--help")), max(HELP_SECONDS, 1.5 * python))

    def test_help_names_every_command(self):
        text = heed("--help").stdout
        self.assertEqual(re.findall(r"(?m)^  ([a-z]+) ", text.split("Options:")[0]), list(COMMANDS))
        for command in COMMANDS:
            result = heed(command, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn(f"Usage: heed {command} ", result.stdout)

    def test_every_command_refuses_a_negative_number_of_threads(self):
        files = {option: self.file(option, "x\n") for option in ("source", "target", "reference")}
        pair = ("--model", self.path / "model", "--source", files["source"])
        given = {"bench": ("train", "--shape", "tiny"), "demo": ("--out", self.path / "demo"),
                 "evaluate": (*pair, "--reference", files["reference"]),
                 "chat": pair[:2], "choose": (*pair[:2], "--questions", files["target"]), "classify": pair[:2], "embed": pair[:2], "fill": pair[:2],
                 "tag": pair[:2],
                 "generate": pair[:2], "inspect": (heed_cli.RECIPE, "--probe"), "perplexity": pair[:2],
                 "plan": (heed_cli.RECIPE,), "prepare": (heed_cli.RECIPE, "--out", self.path / "corpus"),
                 "quantize": (*pair[:2], "--out", self.path / "small"),
                 "recipe": ("--source", files["source"], "--target", files["target"], "--out", self.path / "recipe"),
                 "report": (self.path / "model",), "score": (*pair, "--target", files["target"]),
                 "shortlist": (*pair, "--target", files["target"], "--out", self.path / "list"),
                 "train": (heed_cli.RECIPE, "--out", self.path / "run"), "translate": pair[:2],
                 "tune": (heed_cli.RECIPE, "--out", self.path / "tuned")}
        for command in COMMANDS:
            inner = given.get(command, ())[:1] if command == "bench" else ()
            self.assertEqual("--threads" in heed(command, *inner, "--help").stdout, command in given, command)
        refusals = {self.assert_refused(command, *arguments, "--threads", -1) for command, arguments in given.items()}
        self.assertEqual(refusals, {"heed: threads: expected 1 or more, or 0 for one per processor, found -1\n"})
        self.assertEqual({path.name for path in self.path.iterdir()}, set(files))

    def test_the_version_says_from_what_and_how_it_was_built(self):
        result = heed("--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\Aheed \d+\.\d+\.\d+\ncommit (unknown|[0-9a-f]{12}( with changes)?)\n"
                                        r"\w+ \d+\.\d+\S*, \w*, kernels for .+\n\Z")

    def test_a_command_of_commands_without_one_shows_its_help(self):
        for words in ((), ("bench",), ("tokenizer",)):
            result = heed(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(result.stdout, heed(*words, "--help").stdout)
            self.assertIn(" ".join(("Usage: heed", *words, "COMMAND")), result.stdout)

    def test_a_missing_argument_is_named_with_the_usage(self):
        self.assert_refused("inspect", mentions=("inspect: RECIPE is missing", "heed inspect RECIPE [OPTIONS]"))
        self.assert_refused("evaluate", "--model", "m", mentions=("--source and --reference are missing",))

    def test_an_unknown_option_is_named_with_the_nearest_and_all_others(self):
        self.assert_refused("translate", "--modle", "m", mentions=("'--modle', did you mean '--model'?", "--n-best"))
        self.assert_refused("translate", "--model", "m", "--bem=3", mentions=("'--bem', did you mean '--beam'?",))
        self.assert_refused("--verion", mentions=("'--verion', did you mean '--version'?",))

    def test_an_unknown_command_is_named_with_the_nearest_and_all_others(self):
        self.assert_refused("trian", mentions=("'trian', did you mean 'train'?", "inspect"))
        self.assert_refused("bench", "trian", mentions=("bench: ", "'trian'", "(commands: train"))

    def test_an_option_given_twice_is_refused(self):
        self.assert_refused("translate", "--model", "a", "--model", "a", mentions=("translate: --model is given twice",))
        self.assert_refused("translate", "--model=a", "--scores", "--scores", mentions=("--scores is given twice",))
        self.assert_refused("tokenizer", "train", "--input", "a", "b", "--input", "c", mentions=("--input is given twice",))

    def test_the_next_option_is_not_taken_for_a_value(self):
        reference = self.file("r", "x\n")
        self.assert_refused("bleu", "--reference", reference, "--seed=", "--paired-bootstrap", reference, text="x\n",
                            mentions=("--seed: '' is not an integer",))
        self.assert_refused("bleu", "--reference", reference, "--seed", "--json", text="x\n",
                            mentions=("--seed: expected N, found the option '--json'",))

    def test_an_empty_path_is_refused_with_the_name_of_its_option(self):
        for words, option in ((("translate", "--model", ""), "--model"), (("train", heed_cli.RECIPE, "--out="), "--out"),
                              (("demo", "--out", ""), "--out"), (("export", "--out", ""), "--out"), (("evaluate", "--out", ""), "--out")):
            self.assert_refused(*words, mentions=(f"{option}: expected ", "found an empty name"))

    def test_an_extra_word_is_refused(self):
        self.assert_refused("inspect", heed_cli.RECIPE, "more", mentions=("'more'", "heed inspect RECIPE"))

    def test_an_empty_number_is_refused(self):
        self.assert_refused("bench", "train", "--shape", "tiny", "--steps", "", mentions=("--steps", "not an integer"))

    def test_numbers_are_read_as_people_write_them(self):
        for option, number, words in (("--steps", "010", "begins with a zero"), ("--steps", "0x10", "not an integer"),
                                      ("--steps", "9" * 20, "too large"), ("--steps", "1.5", "not an integer")):
            self.assert_refused("bench", "train", "--shape", "tiny", option, number, mentions=(option, number, words))
        self.assert_refused("bleu", "--reference", self.file("r", "x\n"), "--seed", "-1", text="x\n",
                            mentions=("--seed", "0 or more"))

    def test_a_path_that_is_too_long_is_named(self):
        self.assert_refused("translate", "--model", "m" * 5000, mentions=("mmm: ", "too long"))

    def test_an_error_about_a_name_with_a_line_break_is_still_one_line(self):
        self.assert_refused("inspect", self.path / "a\nb.toml")


if __name__ == "__main__":
    unittest.main()
