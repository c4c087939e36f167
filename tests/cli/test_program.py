"""The program itself: help, version, and commands that are not there."""

import os
import pathlib
import re
import time
import unittest

import heed_cli
from heed_cli import heed

HELP_SECONDS = 0.030
COMMANDS = ("bench", "bleu", "demo", "evaluate", "inspect", "report", "score", "tokenizer", "train", "translate")


def is_instrumented():
    """Whether the program carries a sanitizer, which takes longer than that to start."""
    cache = pathlib.Path(os.environ["HEED_BINARY"]).parent / "CMakeCache.txt"
    return cache.is_file() and re.search(r"^HEED_SANITIZE:\w+=.+$", cache.read_text(), re.MULTILINE) is not None


class Program(heed_cli.CliTest):
    @unittest.skipIf(is_instrumented(), "instrumented by a sanitizer")
    def test_help_comes_at_once(self):
        best = float("inf")
        for _ in range(20):
            begin = time.perf_counter()
            result = heed("--help")
            best = min(best, time.perf_counter() - begin)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertLessEqual(best, HELP_SECONDS)

    def test_help_names_every_command(self):
        text = heed("--help").stdout
        self.assertEqual(re.findall(r"(?m)^  ([a-z]+) ", text.split("Subcommands:")[1]), list(COMMANDS))
        for command in COMMANDS:
            result = heed(command, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn(f"heed {command} [OPTIONS]", result.stdout)

    def test_less_than_no_threads_are_refused_alike(self):
        files = {option: self.file(option, "x\n") for option in ("source", "target", "reference")}
        pair = ("--model", self.path / "model", "--source", files["source"])
        given = {"bench": ("train", "--shape", "tiny"), "demo": ("--out", self.path / "demo"),
                 "evaluate": (*pair, "--reference", files["reference"]), "report": (self.path / "model",),
                 "score": (*pair, "--target", files["target"]),
                 "train": (heed_cli.RECIPE, "--out", self.path / "run"), "translate": pair[:2]}
        for command in COMMANDS:
            inner = given.get(command, ())[:1] if command == "bench" else ()
            self.assertEqual("--threads" in heed(command, *inner, "--help").stdout, command in given, command)
        refusals = {self.assert_refused(command, *arguments, "--threads", -1) for command, arguments in given.items()}
        self.assertEqual(refusals, {"heed: threads: expected 1 or more, or 0 for one per processor, found -1\n"})
        self.assertEqual({path.name for path in self.path.iterdir()}, set(files))

    def test_version_is_one_line(self):
        result = heed("--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\A\d+\.\d+\.\d+\n\Z")

    def test_no_command_is_refused(self):
        self.assert_refused(mentions=("subcommand",))
        self.assert_refused("bench", mentions=("subcommand",))
        self.assert_refused("inspect", mentions=("RECIPE",))

    def test_an_unknown_option_is_named_beside_those_that_there_are(self):
        self.assert_refused("translate", "--modle", "m", mentions=("'--modle'", " --model"))
        self.assert_refused("translate", "--model", "m", "--bem", 3, mentions=("'--bem'", " --beam"))

    def test_an_unknown_command_is_refused(self):
        self.assert_refused("nonsense", mentions=("nonsense", "inspect"))
        self.assert_refused("bench", "nonsense", mentions=("nonsense", "train"))

    def test_an_empty_number_is_refused(self):
        self.assert_refused("bench", "train", "--shape", "tiny", "--steps", "", mentions=("--steps", "number"))

    def test_numbers_are_read_as_people_write_them(self):
        for option, number, words in (("--steps", "010", "begins with a zero"), ("--steps", "0x10", "no whole number"),
                                      ("--steps", "9" * 20, "too large"), ("--steps", "1.5", "no whole number")):
            self.assert_refused("bench", "train", "--shape", "tiny", option, number, mentions=(option, number, words))
        self.assert_refused("bleu", "--reference", self.file("r", "x\n"), "--seed", "-1", text="x\n",
                            mentions=("--seed", "0 or more"))

    def test_a_path_that_is_too_long_is_named(self):
        self.assert_refused("translate", "--model", "m" * 5000, mentions=("mmm: ", "too long"))

    def test_a_name_with_a_line_break_is_still_one_line(self):
        self.assert_refused("inspect", self.path / "a\nb.toml")


if __name__ == "__main__":
    unittest.main()
