"""heed train of language models from outside: what it leaves behind, killing and resuming, and what it refuses."""

import gzip
import json
import random
import unittest

import train_cli

RECIPE = """
[model]
architecture = "causal-lm"
model = 32
inner = 64
heads = 2
decoder_layers = 2
max_length = 32
positions = "learned"
tie = "output"

[data]
train = ["{folder}/text"]
validation_share = 0.1
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
smoothing = 0.0

[validation]
every = 20

[checkpoints]
every = 5
moving_average = 0.9
"""


def lines(count, seed=1):
    draw = random.Random(seed)
    words = ["".join(draw.choice("abcdefgh") for _ in range(4)) for _ in range(count)]
    return "".join(f"{word}:{word}\n" for word in words)


class TrainLanguageModel(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        self.text = self.file("text", lines(600))
        self.recipe = self.file("recipe.toml", RECIPE.format(folder=self.path))

    def events(self, name):
        return [json.loads(line) for line in (self.path / name / "metrics.jsonl").read_text().splitlines()]

    def test_it_leaves_a_model_directory(self):
        result = self.train("run")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("5400 tokens of 5400 bytes; validation: 600 tokens of 600 bytes", result.stdout)
        self.assertRegex(result.stdout, r"validation at update 60: loss \d\.\d+  bits per byte \d\.\d+")
        sample = self.events("run")[-2]["samples"][0]["text"]
        self.assertIn(sample, result.stdout)
        names = {path.name for path in (self.path / "run").iterdir()}
        self.assertEqual(names, {"model.safetensors", "config.json", "text.tokenizer", "recipe.toml", "metrics.jsonl",
                                 "checkpoints"})
        start, end = self.events("run")[0], self.events("run")[-2]
        self.assertEqual((start["train_tokens"], start["validation_bytes"]), (5400, 600))
        # With characters of one byte each, both are the same score in different units.
        self.assertAlmostEqual(end["bits_per_byte"], end["loss"] * 1.4426950408889634, places=6)

    def test_killed_at_any_moment_it_resumes_to_the_same_bits(self):
        self.assert_kills_change_nothing("--set", "training.updates=300", "--set", "data.order=windows", moments=5)

    def test_gzip_and_several_files_are_read_as_one_text(self):
        self.assertEqual(self.train("one").returncode, 0)
        content = self.text.read_bytes()
        first, second = self.file("first", content[:1234]), self.file("second", gzip.compress(content[1234:]))
        self.assertEqual(self.train("two", "--set", f"data.train={first},{second}").returncode, 0)
        self.assertEqual(self.weights("one"), self.weights("two"))

    def test_files_are_mixed_by_weight_to_the_same_bits_after_any_stop(self):
        first, second = self.file("first", lines(300, 2)), self.file("second", lines(40, 3))
        mixed = ("--set", f"data.train={first},{second}", "--set", "data.validation_share=0", "--set",
                 f"data.validation={self.text}", "--set", "data.weights=1,3")
        self.assert_kills_change_nothing("--set", "training.updates=300", *mixed, moments=3)
        self.assertEqual(self.train("even", *mixed, "--set", "data.weights=1,1").returncode, 0)
        self.assertEqual(self.train("one", *mixed[:-1], "data.weights=0,1").returncode, 0)
        self.assertEqual(self.train("apart", *mixed[:-1], "data.weights=[]").returncode, 0)
        self.assertEqual(len({self.weights(name) for name in ("even", "one", "apart")}), 3)
        empty = self.file("empty", "z")
        for weights, files, mention in [("1", (first, second), "1 numbers for the 2 files"), ("1,-1", (first, second), "-1"),
                                        ("0,0", (first, second), "the sum of data.weights is 0"),
                                        ("1,1", (first, empty), "empty: 0 tokens to be predicted"),
                                        ("1,0.000001", (first, second), "gets none")]:
            self.assert_refused("train", self.recipe, "--out", self.path / "x", *mixed[:1], "data.train=" + ",".join(map(str, files)),
                                *mixed[2:-1], f"data.weights={weights}", stdout=None, mentions=[mention])

    def test_a_model_trains_with_every_kind_of_tokenizer(self):
        for kind, vocabulary in [("bpe", 300), ("unigram", 300), ("wordpiece", 60), ("word", 0), ("byte", 0)]:
            with self.subTest(kind=kind):
                result = self.train(kind, "--set", f"tokenizer.kind={kind}", "--set",
                                    f"tokenizer.vocabulary={vocabulary}", "--set", "training.updates=2")
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_with_an_existing_tokenizer_text_may_come_from_standard_input(self):
        self.assertEqual(self.train("learned", "--set", "data.validation_share=0", "--set", "checkpoints.final=last")
                         .returncode, 0)
        result = self.train("piped", "--set", "data.validation_share=0", "--set", "checkpoints.final=last", "--set",
                            "data.train=-", "--set", f"tokenizer.file={self.path / 'learned' / 'text.tokenizer'}",
                            text=self.text.read_text())
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.weights("piped"), self.weights("learned"))

    def refused(self, *changes, mentions):
        settings = [part for change in changes for part in ("--set", change)]
        self.assert_refused("train", self.recipe, "--out", self.path / "run", *settings, mentions=mentions)
        self.assertFalse((self.path / "run").exists())

    def test_it_refuses_text_that_it_cannot_train_on(self):
        empty, short = self.file("empty", ""), self.file("short", "a few words\n")
        latin, blank = self.file("latin", "gut\nsch\xf6n\n".encode("latin-1")), self.file("blank", "\n \n")
        self.refused(f"data.train={empty}", mentions=["empty: the file is empty"])
        self.refused(f"data.train={short}", mentions=["fewer than the context of 24"])
        self.refused(f"data.train={latin}", mentions=["latin:2", "is not UTF-8"])
        self.refused(f"data.train={blank}", "data.documents=line", "tokenizer.kind=byte", mentions=["blank", "holds no text"])
        self.refused("data.train=", mentions=["data.train names no file"])
        self.refused("data.documents=file", "data.validation_share=0.1",
                     mentions=[f"{self.text}: no document begins in the part that is kept for validation"])
        self.refused(f"data.train={self.path / 'none'}", mentions=["data.train names", "none, which does not exist"])
        self.refused("data.context=33", mentions=["data.context is 33 tokens", "model.max_length is 32"])
        self.refused("data.train=-", mentions=["standard input"])
        self.refused("data.documents=verse", mentions=["documents", "verse"])

    def test_it_refuses_attention_that_makes_no_sense(self):
        linear = 'model.attention=["linear"]'
        for positions in ("rotary", "alibi", "relative-bias", "relative-keys", "relative-keys-values"):
            self.refused(linear, f"model.positions={positions}", mentions=['attention "linear"', "use positions"])
        self.refused(linear, "model.attention_cap=5", mentions=["attention_cap", '"linear" has none'])
        self.refused('model.attention=["linear+full"]', mentions=["'linear+full'", "all heads of a layer"])
        self.refused('model.attention=["local:4+strided:4"]', "model.positions=alibi", mentions=["alibi"])
        self.refused("model.logit_cap=-1", mentions=["logit_cap is -1"])
        self.refused('model.attention=["full","full","full"]', "model.decoder_layers=2",
                     mentions=["attention has 3 patterns for 2 layers"])
        self.refused("model.positions=relative-bias", "model.relative_buckets=200000",
                     mentions=["relative_buckets is 200000", "at most 131070"])

    def test_it_refuses_lists_that_do_not_fit_the_layers(self):
        self.refused("model.decoder_layers=2", "model.inner=32,16,8", mentions=["inner has 3 values for 2 layers"])
        self.refused("model.inner=32,a", mentions=["inner is '32,a', but must be an integer or a list"])
        self.refused("model.positions=rotary", "model.rotary_base=0,0", mentions=["rotary_base is 0 in all layers"])
        self.refused("model.decoder_attention=local:4", mentions=['for architecture "seq2seq": write attention'])
        self.refused("model.branches=parallel-own-norms", "model.norm_placement=post",
                     mentions=['parallel branches need norm_placement = "pre"'])

    def test_it_refuses_settings_without_effect(self):
        for change, of in {"rotary_factor=2": "positions", "rotary_base=500": "positions", "labels=a,b": "head",
                           "relative_max_distance=64": "positions", "pooling=mean": "head",
                           "linear_feature=exp": "attention"}.items():
            with self.subTest(change):
                key = change.split("=")[0]
                self.refused("model.positions=learned", f"model.{change}",
                             mentions=[f"model: {key} = ", f"has no effect: it is for {of}"])
        self.refused("model.norm=rms", "model.norm_bias=all", mentions=['norm_bias = "all" has no effect: it is for norm'])

    def test_it_refuses_keys_of_another_task(self):
        self.refused("data.train_source=x", mentions=["train_source"])
        self.refused("validation.beam=4", mentions=["beam"])


if __name__ == "__main__":
    unittest.main()
