"""bench/compare on a recipe: heed's training and PyTorch's, each on the recipe's own text."""

import re
import subprocess
import unittest

import heed_cli
from heed_cli import BINARY, SOURCE

PYTHON = "/usr/bin/python3"  # Debian's PyTorch is there
HAS_TORCH = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0
RESULT = re.compile(r"heed +\d+ +PyTorch \S+ +\d+ real target tokens/s +ratio +\d+\.\d+ .*padding \d+\.\d%")
TRANSLATION = """
[model]
architecture = "seq2seq"
model = 16
inner = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
tie = "all"
max_length = 32
[data]
train_source = ["{folder}/text.de"]
train_target = ["{folder}/text.en"]
max_length = 20
[tokenizer]
vocabulary = 300
[training]
updates = 50
[checkpoints]
final = "last"
"""
LANGUAGE_MODEL = """
[model]
architecture = "causal-lm"
model = 16
inner = 32
heads = 2
decoder_layers = 1
positions = "learned"
activation = "gelu"
tie = "output"
bias = false
max_length = 16
[data]
train = ["{folder}/text"]
validation_share = 0.1
context = 16
order = "windows"
batch_sequences = 2
[tokenizer]
kind = "char"
[optimizer]
kind = "{optimizer}"
[training]
updates = 50
[checkpoints]
final = "last"
"""


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed (package python3-torch)")
class Compare(heed_cli.CliTest):
    def compare(self, recipe):
        command = [PYTHON, SOURCE / "bench" / "compare", "--heed", BINARY, "--recipe", recipe, "--precision", "f32"]
        command += ["--rounds", "1", "--recipe-updates", "50", "--steps", "2", "--warmup", "1", "--threads", "1"]
        return subprocess.run(command, capture_output=True, text=True, timeout=240)

    def test_a_translation_recipe_is_trained_on_both_sides(self):
        nouns = {"Hund": "dog", "Mann": "man", "Vogel": "bird", "Baum": "tree"}
        verbs = {"schläft": "sleeps", "läuft": "runs", "wartet": "waits"}
        pairs = [(f"Ein {n} {v}.", f"A {nouns[n]} {verbs[v]}.") for n in nouns for v in verbs] * 20
        self.file("text.de", "".join(source + "\n" for source, _ in pairs))
        self.file("text.en", "".join(target + "\n" for _, target in pairs))
        recipe = self.file("translation.toml", TRANSLATION.format(folder=self.path))
        result = self.compare(recipe)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, RESULT)

    def language_model_recipe(self, optimizer):
        self.file("text", "The dog sleeps, the man runs, the bird waits.\n" * 50)
        return self.file("language-model.toml", LANGUAGE_MODEL.format(folder=self.path, optimizer=optimizer))

    def test_a_recipe_of_a_character_model_is_trained_on_both_sides(self):
        result = self.compare(self.language_model_recipe("adamw"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, RESULT)

    def test_an_optimizer_that_pytorch_does_not_have_is_named(self):
        result = self.compare(self.language_model_recipe("muon"))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"optimizer\.kind is muon, but this peer only knows adam, adamw")


if __name__ == "__main__":
    unittest.main()
