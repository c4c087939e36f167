"""heed train of encoders from outside: masked language models."""

import json
import unittest

import train_cli
from heed_cli import heed
from model_folder import make_model
from test_train_language_model import lines

RECIPE = """
[model]
architecture = "encoder"
model = 32
inner = 64
heads = 2
encoder_layers = 2
max_length = 32
positions = "learned"
tie = "output"

[data]
train = ["{folder}/text"]
validation_share = 0.1
documents = "line"
context = 24
batch_sequences = 8

[tokenizer]
kind = "char"
vocabulary = 0

[schedule]
peak = 0.005
warmup = 10

[training]
updates = 60
log_every = 10

[validation]
every = 20

[checkpoints]
every = 5
"""


class TrainMaskedModel(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        self.text = self.file("text", lines(600))
        self.recipe = self.file("recipe.toml", RECIPE.format(folder=self.path))

    def test_a_tokenizer_without_a_mask_token_is_not_taken_from_another_model(self):
        model = self.path / "writer"
        make_model(model)
        self.assert_refused("train", self.recipe, "--out", self.path / "x", "--set", f"training.from={model}",
                            mentions=('mask token "<mask>"', "set training.from_tokenizers to false"))

    def test_it_leaves_a_model_directory(self):
        result = self.train("run")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"validation at update 60: loss \d\.\d+  accuracy 0\.\d+")
        self.assertIn(" => ", result.stdout)
        names = {path.name for path in (self.path / "run").iterdir()}
        self.assertEqual(names, {"model.safetensors", "config.json", "text.tokenizer", "recipe.toml", "metrics.jsonl",
                                 "checkpoints"})
        events = [json.loads(line) for line in (self.path / "run" / "metrics.jsonl").read_text().splitlines()]
        self.assertIn("accuracy", events[-2])
        self.assert_fills(self.path / "run")

    def assert_fills(self, model):
        text = self.text.read_text().splitlines()[0]
        masked, tail = f"{text[:3]}<mask>{text[4:]}", f"<mask>{text[1:]}<mask>"
        result = heed("fill", "--model", model, text=f"{masked}\n{tail}\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        first, second = (line.split("\t") for line in result.stdout.splitlines())
        self.assertEqual((len(first), len(second)), (2, 3))
        self.assertEqual((first[0][:3], first[0][4:], len(first[1].split(" "))), (text[:3], text[4:], 5))
        alone = heed("fill", "--model", model, "--json", "--top", 2, "--text", tail)
        found = json.loads(alone.stdout)
        self.assertEqual(found["text"], second[0])
        for guesses, column in zip(found["masks"], second[1:]):
            self.assertEqual([f"{guess['token']}={guess['probability']:.6f}" for guess in guesses],
                             column.split(" ")[:2])
            self.assertEqual(guesses[0]["text"], found["text"])
        again = heed("fill", "--model", model, "--mask", "<mask>", "--threads", 1, text=f"{masked}\n")
        self.assertEqual(again.stdout, result.stdout.splitlines()[0] + "\n", "nor on other lines, nor on threads")
        for options, line, mention in [((), "abc", "stdin:1: has no mask, which is written <mask>"),
                                       (("--mask", "[M]"), "abc", 'no token "[M]"'), (("--top", 0), masked, "0 guesses"),
                                       (("--text", masked, "--input", self.text), "", "give one of them"),
                                       ((), "<mask>" * 40, "stdin:1: 42 tokens")]:
            self.assert_refused("fill", "--model", model, *options, text=f"{line}\n", mentions=[mention])
        other = self.path / "translator"
        make_model(other)
        self.assert_refused("fill", "--model", other, text="<mask>\n", mentions=["has no head for masked tokens"])

    def test_killed_at_any_moment_it_resumes_to_the_same_bits(self):
        self.assert_kills_change_nothing("--set", "training.updates=300", moments=3)

    def test_settings_that_make_no_sense_are_refused(self):
        for setting, mention in [("data.mask_share=0", "data.mask_share is 0"),
                                 ("data.random_token_share=0.5", "data.random_token_share 0.5"),
                                 ("data.whole_words=true", "data.whole_words needs tokens that are words"),
                                 ("tokenizer.mask=", "tokenizer.mask is empty"),
                                 ("validation.samples=-1", "validation.samples is -1"),
                                 ("training.task=language-model", "model.architecture is an encoder"),
                                 ('model.attention=["causal"]', "'causal' is not a pattern: a decoder's attention is causal and an encoder's is not")]:
            self.assert_refused("train", self.recipe, "--out", self.path / "no", "--set", setting, mentions=[mention],
                                stdout=None)
            self.assertFalse((self.path / "no").exists())
        self.assert_refused("train", self.recipe, "--out", self.path / "no", "--set", "training.task=masked-lm", "--set",
                            "model.architecture=causal-lm", mentions=['"masked-lm" trains an encoder'], stdout=None)


if __name__ == "__main__":
    unittest.main()
