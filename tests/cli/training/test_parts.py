#!/usr/bin/env python3
"""A model that the ranks which mpirun starts divide: matrices in parts, and copies and stages together with them."""

import json
import unittest

from heed_cli import BINARY, CliTest, heed
from mpirun import ended, lines_of_heed, skip_without_mpi, start

RECIPE = """
[model]
architecture = "causal-lm"
model = 64
inner = 128
heads = 4
decoder_layers = 2
max_length = 32
positions = "rotary"
[data]
train = ["text.txt"]
validation = ["text.txt"]
context = 16
batch_sequences = 4
[tokenizer]
kind = "char"
[training]
updates = 12
accumulate = 2
log_every = 1
precision = "f32"
[validation]
every = 6
[checkpoints]
final = "last"
"""


class PartsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.text = self.file("text.txt", "the quick brown fox jumps over the lazy dog\n" * 20)
        self.recipe = self.file("recipe.toml", RECIPE.replace("text.txt", str(self.text)))

    def words(self, name, *more):
        return [BINARY, "train", self.recipe, "--out", self.path / name, "--threads", "1", *more]

    def train(self, ranks, name, *more):
        status, out, err = ended(start(ranks, *self.words(name, *more)))
        self.assertEqual((status, lines_of_heed(err)), (0, []), err)
        return out

    def start_of(self, name):
        return json.loads((self.path / name / "metrics.jsonl").read_text().splitlines()[0])

    def weights(self, name):
        return (self.path / name / "model.safetensors").read_bytes()

    def losses(self, name):
        lines = (self.path / name / "metrics.jsonl").read_text().splitlines()
        return [entry["loss"] for entry in map(json.loads, lines) if "loss" in entry]

    def assert_losses_agree(self, name, other, tolerance=2e-4):
        self.assertEqual(len(self.losses(name)), 14)  # 12 updates, 2 validations
        for own, others in zip(self.losses(name), self.losses(other), strict=True):
            self.assertAlmostEqual(own, others, delta=tolerance * others)

    def test_parts_train_what_one_process_trains_but_for_rounding(self):
        result = heed(*self.words("one")[1:])
        self.assertEqual(result.returncode, 0, result.stderr)
        for ranks, layout in ((2, "tensor=2"), (4, "tensor=4"), (4, "data=2,tensor=2"), (4, "pipeline=2,tensor=2")):
            self.train(ranks, layout, "--layout", layout)
            self.assert_losses_agree(layout, "one")
        self.assertEqual(self.weights("data=2,tensor=2"), self.weights("tensor=2"))
        self.assertEqual(self.weights("pipeline=2,tensor=2"), self.weights("tensor=2"))
        self.train(2, "again", "--layout", "tensor=2")
        self.assertEqual(self.weights("again"), self.weights("tensor=2"))
        self.assertEqual(len(self.weights("tensor=2")), len(self.weights("one")))
        continued = heed("generate", "--model", self.path / "tensor=4", "--max-tokens", "3", text="the quick\n")
        self.assertEqual((continued.returncode, continued.stderr), (0, ""))

    def test_in_bf16_parts_round_otherwise(self):
        bf16 = ("--set", "training.precision=bf16")
        result = heed(*self.words("one", *bf16)[1:])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.train(2, "two", "--layout", "tensor=2", *bf16)
        self.assert_losses_agree("two", "one", tolerance=3e-3)

    def test_copies_of_stages_train_what_one_process_trains(self):
        result = heed(*self.words("one")[1:])
        self.assertEqual(result.returncode, 0, result.stderr)
        shown = self.train(4, "four", "--layout", "data=2,pipeline=2")
        self.assertEqual(shown.splitlines()[0], "layout of 4 ranks: data=2,pipeline=2,tensor=1")
        self.assertEqual(self.start_of("four")["layout"], "data=2,pipeline=2,tensor=1")
        self.assertNotIn("layout", self.start_of("one"))
        self.assertEqual(self.weights("four"), self.weights("one"))
        self.assertEqual(self.losses("four"), self.losses("one"))

    def test_a_run_goes_on_with_other_ranks_and_another_layout(self):
        self.train(2, "run", "--layout", "tensor=2", "--set", "training.updates=4")
        self.train(4, "run", "--resume", "--layout", "tensor=4", "--set", "training.updates=8")
        self.train(1, "run", "--resume", "--set", "training.updates=12")
        result = heed(*self.words("one")[1:])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertAlmostEqual(self.losses("run")[-1], self.losses("one")[-1], delta=2e-4)

    def test_what_ranks_cannot_divide_is_refused_once(self):
        for ranks, layout, more, refusal in (
            (3, "tensor=3", (), "tensor 3 does not divide 4 heads"),
            (2, "tensor=2", ("--set", "model.inner=129"), "tensor 2 does not divide 129 inner columns"),
            (4, "tensor=2,data=1", (), "data=1,pipeline=1,tensor=2 needs 2 ranks, but there are 4"),
            (2, "tensor=2", ("--set", "optimizer.kind=muon"), 'does not go with optimizer.kind = "muon"'),
            (8, "data=4,tensor=2", (), "an update has 2 shards, which is too few for 4"),
        ):
            status, out, err = ended(start(ranks, *self.words("refused", "--layout", layout, *more)))
            self.assertEqual((status, len(lines_of_heed(err))), (2, 1), err)
            self.assertIn(refusal, lines_of_heed(err)[0])
            self.assertFalse((self.path / "refused").exists())

    def test_a_model_that_cannot_be_divided_is_refused_before_its_text_is_read(self):
        (self.path / "no-text").write_bytes(b"\xff\n")  # refused as soon as it is read
        for layout, more, refusal in (
            ("tensor=2", ("--set", "model.qk_norm=all"), 'tensor 2 does not go with qk_norm = "all"'),
            ("pipeline=2", ("--set", "model.positions=relative-bias"), "share relative biases"),
        ):
            text = f"data.train={self.path / 'no-text'}"
            status, out, err = ended(start(2, *self.words("refused", "--layout", layout, *more, "--set", text)))
            self.assertEqual((status, out, len(lines_of_heed(err))), (2, "", 1), err)
            self.assertIn(refusal, lines_of_heed(err)[0])


if __name__ == "__main__":
    skip_without_mpi()
    unittest.main()
