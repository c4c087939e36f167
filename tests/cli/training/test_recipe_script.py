"""The scripts in recipes/, with stand-ins for heed that record its calls."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.environ["HEED_SOURCE_DIR"], "recipes", "both-ways.sh")
DATA = "../shared/data/multi30k"
TRAIN_BOTH = (f"train recipes/multi30k-both-ways.toml --out out/both-ways --set training.updates=70 --set schedule.length=70 "
              f"--set data.validation_source={DATA}/val.de --set data.validation_target={DATA}/val.en "
              f"--set data.train_source={DATA}/train.de,{DATA}/train.en "
              f"--set data.train_target={DATA}/train.en,{DATA}/train.de")
TRAIN_ONE = (f"train recipes/multi30k-both-ways.toml --out out/de-en --set training.updates=35 --set schedule.length=35 "
             f"--set data.validation_source={DATA}/val.de --set data.validation_target={DATA}/val.en "
             "--set training.from=out/both-ways --set schedule.peak=0.002 --set schedule.warmup=200 "
             f"--set data.train_source={DATA}/train.de,{DATA}/train.de,out/made.de "
             f"--set data.train_target={DATA}/train.en,out/made.en,{DATA}/train.en")
TRANSLATE = "translate --model out/both-ways --beam 4"
ARGUMENTS = ("de", "en", "out", "70", "35")

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
        self.assertEqual(self.run_script(*ARGUMENTS), 0)
        self.assertEqual(self.read("calls").splitlines(), [TRAIN_BOTH, TRANSLATE, TRANSLATE, TRAIN_ONE])
        self.assertEqual(self.read("out/made.en"), "translated de\n")
        self.assertEqual(self.read("out/made.de"), "translated en\n")

    def test_both_trainings_get_its_options(self):
        self.assertEqual(self.run_script(*ARGUMENTS, "--set", "tokenizer.normalization=nfc"), 0)
        calls = self.read("calls").splitlines()
        self.assertEqual([calls[0], calls[3]], [call + " --set tokenizer.normalization=nfc" for call in (TRAIN_BOTH, TRAIN_ONE)])

    def test_the_model_of_both_directions_learns_from_itself_once_more(self):
        self.assertEqual(self.run_script("de", "en", "out", "70,50", "35"), 0)
        there = f"{DATA}/train.de,{DATA}/train.de,out/made.de", f"{DATA}/train.en,out/made.en,{DATA}/train.en"
        both = (f"train recipes/multi30k-both-ways.toml --out out/both-ways-2 --set training.updates=50 "
                f"--set schedule.length=50 --set data.validation_source={DATA}/val.de "
                f"--set data.validation_target={DATA}/val.en "
                "--set training.from=out/both-ways --set schedule.peak=0.002 --set schedule.warmup=200 "
                f"--set data.train_source={there[0]},{there[1]} --set data.train_target={there[1]},{there[0]}")
        again = "translate --model out/both-ways-2 --beam 4"
        one = (f"train recipes/multi30k-both-ways.toml --out out/de-en --set training.updates=35 --set schedule.length=35 "
               f"--set data.validation_source={DATA}/val.de --set data.validation_target={DATA}/val.en "
               "--set training.from=out/both-ways-2 --set schedule.peak=0.002 --set schedule.warmup=200 "
               f"--set data.train_source={there[0]},{DATA}/train.de,out/made-2.de "
               f"--set data.train_target={there[1]},out/made-2.en,{DATA}/train.en")
        self.assertEqual(self.read("calls").splitlines(), [TRAIN_BOTH, TRANSLATE, TRANSLATE, both, again, again, one])

    def test_it_goes_on_where_it_was_stopped(self):
        self.write("fail-at", "translate")
        self.assertEqual(self.run_script(*ARGUMENTS), 2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out", "made.en")))
        os.remove(os.path.join(self.folder, "fail-at"))
        os.remove(os.path.join(self.folder, "calls"))
        self.assertEqual(self.run_script(*ARGUMENTS), 0)
        self.assertEqual(self.read("calls").splitlines(), [TRAIN_BOTH + " --resume", TRANSLATE, TRANSLATE, TRAIN_ONE])

    def test_it_asks_for_a_folder_and_updates(self):
        self.assertEqual(self.run_script("de", "en", "out"), 2)
        self.assertEqual(self.run_script("de", "en", "out", ",", "35"), 2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "calls")))


POSITIONS = os.path.join(os.environ["HEED_SOURCE_DIR"], "recipes", "positions.sh")


class PositionsScript(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)

    def run_script(self, *arguments):
        heed = os.path.join(self.top.name, "heed")
        with open(heed, "w") as file:
            file.write("#!/bin/sh\necho \"$*\" >> calls\n[ $1 = train ] || wc -c\n")
        os.chmod(heed, 0o755)
        return subprocess.run([POSITIONS, *arguments], cwd=self.top.name, capture_output=True, text=True,
                              env={**os.environ, "HEED": heed})

    def test_measures_each_kind_on_the_last_tenth_in_three_lengths(self):
        with open(os.path.join(self.top.name, "text"), "w") as file:
            file.write("0123456789" * 10 + "abcd")
        result = self.run_script("out", "text")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(os.path.join(self.top.name, "calls")) as file:
            calls = file.read().splitlines()
        for positions in ("none", "sinusoidal", "learned", "rotary", "alibi", "relative-bias", "relative-keys",
                          "relative-keys-values"):
            self.assertIn("train recipes/shakespeare-char.toml --out out/" + positions + " --set data.train=text "
                          "--set model.positions=" + positions, calls)
            for length in (64, 128, 256):
                self.assertIn(f"perplexity --model out/{positions} --context {length}", calls)
        self.assertIn("perplexity --model out/rotary --context 256 --rotary-scaling yarn", calls)
        self.assertIn("alibi, 64 characters: 11\n", result.stdout)

    def test_says_which_text_is_missing(self):
        result = self.run_script("out", "nowhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no text nowhere: name one after the folder\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
