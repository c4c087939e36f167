"""Files and runs go from this machine's processor to the emulated one, and back."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import heed_cli

NATIVE = pathlib.Path(os.environ["HEED_NATIVE_BINARY"])
EMULATED = pathlib.Path(heed_cli.BINARY)
WAYS = ((NATIVE, EMULATED), (EMULATED, NATIVE))
RECIPE = """
[model]
model = 32
inner = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 64
tie = "all"
embedding_dropout = 0
branch_dropout = 0
attention_dropout = 0
inner_dropout = 0

[data]
train_source = ["{folder}/train.de"]
train_target = ["{folder}/train.en"]
validation_source = ["{folder}/train.de"]
validation_target = ["{folder}/train.en"]
max_length = 40
batch_target_tokens = 200

[tokenizer]
kind = "word"
vocabulary = 0

[schedule]
peak = 0.01
warmup = 10

[training]
precision = "f32"
updates = 200
log_every = 1

[validation]
every = 50
"""
SUBJECTS = {"der Mann": "the man", "die Frau": "the woman", "das Kind": "the child", "der Hund": "the dog"}
VERBS = {"sieht": "sees", "kennt": "knows", "sucht": "looks for", "malt": "paints"}
OBJECTS = {"die Stadt": "the city", "das Haus": "the house", "die Katze": "the cat", "das Buch": "the book"}
PAIRS = [(f"{a} {b} {c}.", f"{x} {y} {z}.")
         for a, x in SUBJECTS.items() for b, y in VERBS.items() for c, z in OBJECTS.items()]
F32 = ("--precision", "f32", "--threads", 1)
# A dozen products one after the other, of at most 64 terms, each rounded by 2^-24 at most.
ROUNDING = 12 * 64 * 2**-24


def run(program, *arguments, text=""):
    result = subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=600,
                            env={**os.environ, "LC_ALL": "C"})
    if result.returncode != 0:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}: status {result.returncode}, {result.stderr}")
    return result.stdout


class BothProcessors(heed_cli.CliTest):
    def setUp(self):
        super().setUp()
        self.sources = self.file("train.de", "".join(f"{source}\n" for source, _ in PAIRS))
        self.targets = self.file("train.en", "".join(f"{target}\n" for _, target in PAIRS))
        self.recipe = self.file("recipe.toml", RECIPE.format(folder=self.path))

    def train(self, program, name, *more):
        return run(program, "train", self.recipe, "--out", self.path / name, "--threads", 1, *more)

    def until(self, updates):
        return ("--set", f"training.updates={updates}")

    def arithmetic(self, name, update):
        state = self.path / name / "checkpoints" / f"update-{update:08}" / "state.json"
        return json.loads(state.read_text())["arithmetic"]

    def losses(self, name):
        events = map(json.loads, (self.path / name / "metrics.jsonl").read_text().splitlines())
        return {event["update"]: event["loss"] for event in events if event["event"] == "train"}

    def test_a_run_goes_on_on_the_other_processor_and_says_that_bits_will_differ(self):
        for first, second in WAYS:
            with self.subTest(first.name):
                name = f"begun by {first.name}"
                self.train(first, name, *self.until(20))
                begun = self.arithmetic(name, 20)
                shown = self.train(second, name, "--resume", *self.until(40))
                self.assertIn("resuming after update 20", shown)
                now = self.arithmetic(name, 40)
                self.assertEqual("NEON" in begun, first == EMULATED, begun)
                self.assertEqual("NEON" in now, second == EMULATED, now)
                self.assertIn(f"so far it was computed by {begun}, and now by {now}: from here on it has other bits", shown)

    def test_the_first_losses_of_a_run_are_the_same_but_for_rounding(self):
        dropout = ("--set", "model.branch_dropout=0.1", "--set", "model.attention_dropout=0.1")
        for program in (NATIVE, EMULATED):
            self.train(program, program.name, *self.until(4), *dropout)
        natively, emulated = self.losses(NATIVE.name), self.losses(EMULATED.name)
        self.assertEqual((list(natively), list(emulated)), ([1, 2, 3, 4], [1, 2, 3, 4]))
        self.assertAlmostEqual(emulated[1] / natively[1], 1, delta=ROUNDING)
        # Adam's first steps are as long as the rate, whatever the gradient; where that is only rounding, it may go the
        # other way, and the loss hardly changes.
        for update in (2, 3, 4):
            self.assertAlmostEqual(emulated[update] / natively[update], 1, delta=0.01)

    def test_a_model_writes_and_scores_the_same_on_both(self):
        expected = self.targets.read_text()
        for writer, reader in WAYS:
            with self.subTest(writer.name):
                model = self.path / f"of {writer.name}"
                self.train(writer, model.name)
                score = ("score", "--model", model, "--source", self.sources, "--target", self.targets, *F32)
                scores = [[float(line.split()[0]) for line in run(program, *score).splitlines()] for program in (reader, writer)]
                # A sentence has seven tokens, whose logits are below 10.
                for a, b in zip(*scores, strict=True):
                    self.assertAlmostEqual(a, b, delta=7 * 10 * ROUNDING)
                quantized = self.path / f"int8 of {writer.name}"
                run(writer, "quantize", "--model", model, "--out", quantized)
                for directory in (model, quantized):
                    translated = run(reader, "translate", "--model", directory, *F32, "--beam", 2, text=self.sources.read_text())
                    self.assertEqual(translated, expected)

    def test_a_prepared_corpus_is_the_same_on_both(self):
        for writer in (NATIVE, EMULATED):
            run(writer, "prepare", self.recipe, "--out", self.path / f"corpus of {writer.name}")
        native, emulated = (self.path / f"corpus of {program.name}" for program in (NATIVE, EMULATED))
        names = sorted(path.relative_to(native) for path in native.rglob("*") if path.is_file())
        self.assertTrue(names)
        for name in names:
            self.assertEqual((native / name).read_bytes(), (emulated / name).read_bytes(), name)


if __name__ == "__main__":
    if not NATIVE.exists():
        print(f"skipped: there is no {NATIVE}, whose files the emulated program would read")
        sys.exit(77)
    unittest.main()
