"""recipes/multi30k-en-de.sh, with a stand-in for heed that records its calls."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.environ["HEED_SOURCE_DIR"], "recipes", "multi30k-en-de.sh")

STAND_IN = """#!/bin/sh
echo "$*" >> calls
if [ -e fail-at ] && grep -q "$(cat fail-at)" calls; then exit 2; fi
case $1 in
  train) mkdir -p "$4" && touch "$4/recipe.toml" ;;
  translate) echo "translated $(cat)" ;;
esac
"""


class RecipeScript(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)
        self.folder = os.path.join(self.top.name, "project")
        data = os.path.join(self.top.name, "shared", "data", "multi30k")
        os.makedirs(self.folder)
        os.makedirs(data)
        for language in ("de", "en"):
            with open(os.path.join(data, "train." + language), "w") as file:
                file.write(language)
        self.stand_in = self.write("heed", STAND_IN)
        os.chmod(self.stand_in, 0o755)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return file.read()

    def run_script(self, *arguments):
        environment = dict(os.environ, HEED=self.stand_in)
        done = subprocess.run(["sh", SCRIPT, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True)
        return done.returncode

    def test_it_takes_its_steps_in_order(self):
        self.assertEqual(self.run_script("out"), 0)
        self.assertEqual(
            self.read("calls").splitlines(),
            [
                "train recipes/multi30k-both-ways.toml --out out/both-ways",
                "translate --model out/both-ways --beam 4",
                "translate --model out/both-ways --beam 4",
                "train recipes/multi30k-en-de.toml --out out/en-de",
            ],
        )
        self.assertEqual(self.read("made/multi30k.en"), "translated de\n")
        self.assertEqual(self.read("made/multi30k.de"), "translated en\n")

    def test_it_goes_on_where_it_was_stopped(self):
        self.write("fail-at", "translate")
        self.assertEqual(self.run_script("out"), 2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "made", "multi30k.en")))
        os.remove(os.path.join(self.folder, "fail-at"))
        os.remove(os.path.join(self.folder, "calls"))
        self.assertEqual(self.run_script("out"), 0)
        calls = self.read("calls").splitlines()
        self.assertEqual(calls[0], "train recipes/multi30k-both-ways.toml --out out/both-ways --resume")
        self.assertEqual(len(calls), 4)

    def test_it_asks_for_a_folder(self):
        self.assertNotEqual(self.run_script(), 0)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "calls")))


if __name__ == "__main__":
    unittest.main()
