"""heed train on text with noise: an encoder-decoder learns to restore it, resumes, and becomes a translator."""

import json
import random
import unittest

import train_cli

RECIPE = """
[model]
model = 32
inner = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 40
tie = "all"

[data]
train = ["{folder}/text"]
validation = ["{folder}/valid"]
documents = "line"
context = 24
batch_sequences = 8

[tokenizer]
kind = "char"
vocabulary = 0
sentinels = 8

[schedule]
peak = 0.01
warmup = 10

[training]
task = "denoising"
updates = 80
log_every = 10

[validation]
every = 40
"""


def lines(count, seed):
    draw = random.Random(seed)
    return "".join((draw.choice("abcdefgh") + draw.choice("ijkl")) * 5 + "\n" for _ in range(count))


class Denoising(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        self.file("text", lines(400, 1))
        self.file("valid", lines(40, 2))
        self.recipe = self.file("recipe.toml", RECIPE.format(folder=self.path))

    def test_it_learns_to_restore_text(self):
        for noise in ("spans", "infilling"):
            result = self.train(noise, "--set", f"data.noise={noise}")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            events = map(json.loads, (self.path / noise / "metrics.jsonl").read_text().splitlines())
            losses = [event["loss"] for event in events if event["event"] == "validation"]
            self.assertLess(losses[-1], 0.8 * losses[0], noise)
        self.assertNotEqual(self.weights("spans"), self.weights("infilling"))

    def test_killed_at_any_moment_it_resumes_to_the_same_bits(self):
        self.assert_kills_change_nothing("--set", "training.updates=300", moments=4)

    def test_a_translator_begins_from_it(self):
        self.train("run", "--set", "training.updates=4")
        self.file("train.target", lines(60, 3))
        self.file("train.source", lines(60, 4))
        self.recipe = self.file("translation.toml", f"""
[data]
train_source = ["{self.path}/train.source"]
train_target = ["{self.path}/train.target"]
max_length = 20
batch_target_tokens = 200
[training]
from = "{self.path}/run"
updates = 2
[checkpoints]
final = "last"
""")
        result = self.train("translator")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_what_makes_no_sense_is_refused(self):
        for setting, mention in [("data.noise_share=0", "data.noise_share is 0"), ("data.noise_length=0.5", "data.noise_length"),
                                 ("data.noise=holes", "holes"), ("tokenizer.sentinels=1", "tokenizer.sentinels is 1"),
                                 ("data.context=39", "data.context is 39")]:
            self.assert_refused("train", self.recipe, "--out", self.path / "x", "--set", setting, stdout=None,
                                mentions=[mention])
        self.file("valid", "a\nb\n")
        self.assert_refused("train", self.recipe, "--out", self.path / "x", stdout=None,
                            mentions=["data.validation", "two tokens"])
        self.assertFalse((self.path / "x").exists())
        self.file("valid", lines(40, 2))
        self.file("text", "a\nb\n" * 60)
        self.assert_refused("train", self.recipe, "--out", self.path / "x", stdout=None, mentions=["data.train"])


if __name__ == "__main__":
    unittest.main()
