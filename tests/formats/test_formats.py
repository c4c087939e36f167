"""What earlier versions wrote is read as they read it, in every folder here that make.py made."""

import json
import os
import pathlib
import shutil
import tempfile
import unittest

import make

BINARY = os.environ["HEED_BINARY"]
HERE = pathlib.Path(__file__).parent


class Formats(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folders = []
        for original in sorted(HERE.glob("v*")):
            shutil.copytree(original, pathlib.Path(scratch.name) / original.name)
            self.folders.append(pathlib.Path(scratch.name) / original.name)
        self.assertTrue(self.folders)

    def each(self):
        for folder in self.folders:
            with self.subTest(folder.name):
                yield folder, json.loads((folder / "answers.json").read_text())

    def test_tokenizers_give_the_same_tokens_and_text(self):
        for folder, answers in self.each():
            self.assertEqual(len(answers["tokenizers"]), 6)
            for kind, answer in answers["tokenizers"].items():
                self.assertEqual(make.encoded(BINARY, folder, kind), answer["tokens"], kind)
                self.assertEqual(make.decoded(BINARY, folder, kind, answer["tokens"]), answer["text"], kind)

    def test_a_model_gives_the_same_scores(self):
        for folder, answers in self.each():
            found = make.scores(BINARY, folder)
            self.assertEqual(len(found), len(answers["scores"]))
            for score, expected in zip(found, answers["scores"]):
                self.assertAlmostEqual(score, expected, delta=1e-4 * abs(expected))

    def test_a_run_goes_on(self):
        for folder, _ in self.each():
            shown = make.heed(BINARY, folder, "train", "recipe.toml", "--out", "run", "--resume", "--set",
                              "training.updates=22")
            self.assertIn("resuming after update 20", shown)
            self.assertIn('"update":22', (folder / "run" / "metrics.jsonl").read_text())

    def test_a_run_from_before_the_key_goes_on_to_decay_all_weights(self):
        folder = self.folders[0]
        self.assertNotRegex((folder / "run" / "recipe.toml").read_text(), "(?m)^decay =")
        make.heed(BINARY, folder, "train", "recipe.toml", "--out", "run", "--resume", "--set", "training.updates=22")
        self.assertIn('\ndecay = "all"\n', (folder / "run" / "recipe.toml").read_text())

    def test_a_report_is_made(self):
        for folder, _ in self.each():
            make.heed(BINARY, folder, "report", "run")
            self.assertIn("</html>", (folder / "run" / "report.html").read_text())


if __name__ == "__main__":
    unittest.main()
