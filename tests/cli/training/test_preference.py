"""heed train on preferences between answers: what it learns, that it resumes, and what is refused."""

import json
import shutil
import unittest

import train_cli
from heed_cli import SOURCE, heed

DECODERS = SOURCE / "tests" / "interchange" / "golden" / "decoders"
TEMPLATE = """{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
PAIRS = [("the cat", "is on it", "is a dog"), ("a dog", "the end", "it is on the cat"),
         ([{"role": "system", "content": "be a dog"}, {"role": "user", "content": "a cat"}],
          [{"role": "assistant", "content": "a dog"}], "no one"), ("the hat", "a", "a cat is here")]


def line(prompt, chosen, rejected):
    return json.dumps({"prompt": prompt, "chosen": chosen, "rejected": rejected}) + "\n"


class Preference(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        self.base = self.path / "base"
        shutil.copytree(DECODERS / "qwen2", self.base)
        (self.base / "chat_template.jinja").write_text(TEMPLATE)
        self.pairs = self.file("train.jsonl", "".join(line(*pair) for pair in PAIRS))
        self.recipe = SOURCE / "recipes" / "finetune-preference.toml"

    def options(self, **values):
        given = {"training.from": self.base, "data.train": self.pairs, "data.validation": self.pairs,
                 "data.context": 100, "data.batch_sequences": 2, "schedule.peak": 0.01, "schedule.warmup": 1,
                 "schedule.kind": "constant", "training.precision": "f32", "training.log_every": 1,
                 "training.epochs": 20, **values}
        return [part for key, value in given.items() for part in ("--set", f"{key}={value}")] + ["--threads", "1"]

    def whole(self):
        """The recipe without its adapter."""
        text = self.recipe.read_text()
        self.recipe = self.file("whole.toml", text[:text.index("[adapter]")] + text[text.index("[schedule]"):])

    def validations(self, run):
        events = map(json.loads, (self.path / run / "metrics.jsonl").read_text().splitlines())
        return [event for event in events if "reward_margin" in event]

    def learn(self, name, options):
        result = self.train(name, *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("training text: 4 preferences, ", result.stdout)
        found = self.validations(name)
        self.assertEqual(found[-1]["accuracy"], 1.0)
        self.assertGreater(found[-1]["reward_margin"], found[0]["reward_margin"])
        self.assertGreater(found[-1]["reward_margin"], 0.5)
        return result.stdout

    def test_an_adapter_learns_what_is_preferred(self):
        out = self.learn("adapter", self.options())
        # Nothing tells the model from its reference at first: -log sigmoid(0).
        self.assertRegex(out, r"update 1 .*loss 0\.693")

    def test_a_whole_model_learns_it_too_and_from_a_prepared_corpus_to_the_same_bits(self):
        self.whole()
        options = self.options(**{"schedule.peak": 0.003})
        self.learn("run", options)
        prepared = self.path / "prepared"
        made = heed("prepare", self.recipe, "--out", prepared, *options)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.train("again", *options, "--prepared", prepared)
        self.assertEqual(self.weights("again"), self.weights("run"))
        # Which pairs are too long was decided when it was prepared.
        self.assert_refused("train", self.recipe, "--out", self.path / "x", *options, "--prepared", prepared,
                            "--set", "data.context=90", stdout=None, mentions=(f"{prepared}: ", "data.context = 100"))

    def test_a_run_that_was_stopped_goes_on_to_the_same_bits(self):
        self.train("whole", *self.options(**{"training.epochs": 4}))
        self.train("part", *self.options(**{"training.epochs": 2}))
        self.train("part", *self.options(**{"training.epochs": 4}), "--resume")
        whole, part = ((self.path / name / "adapter.safetensors").read_bytes() for name in ("whole", "part"))
        self.assertEqual(part, whole)

    def test_what_makes_no_sense_is_refused_with_its_line(self):
        good = line(*PAIRS[0])
        for bad, mention in [("{}", 'no "prompt"'), ('{"prompt": "a", "chosen": "b"}', 'no "rejected"'),
                             (line("a", "b", "b").strip(), "are the same"), (line("", "b", "c").strip(), '"prompt" is empty'),
                             (line("a", "b", 3).strip(), '"rejected" is neither'), (line("a", [], "b").strip(), '"chosen"'),
                             (line([{"role": "usr", "content": "a"}], "b", "c").strip(), '"usr"'),
                             (line(["a"], "b", "c").strip(), "message 1 is"),
                             (line("a", [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
                                   "c").strip(), '"chosen" does not begin'),
                             (line("a", "b", [{"role": "assistant", "content": "b"}, {"role": "user", "content": "a"}])
                              .strip(), '"rejected" does not begin'), ("[]", "expected an object"),
                             ('{"prompt": "a", "chosen": "b", "rejected": "c", "id": 1}', '"id"'), ("{", "not JSON")]:
            data = self.file("bad.jsonl", f"{good}\n{bad}\n")
            self.assert_refused("train", self.recipe, "--out", self.path / "x", *self.options(**{"data.train": data}),
                                stdout=None, mentions=(f"{data}:3: ", mention))
            self.assertFalse((self.path / "x").exists())
        for values, mention in [({"preference.beta": 0}, "preference.beta is 0"), ({"distil.teacher": self.base}, "leave out"),
                                ({"data.too_long": "truncate"}, "cut"),
                                ({"data.context": 3}, "all 4 preferences are longer"),
                                ({"data.context": 3, "data.too_long": "refuse"}, "train.jsonl:1: ")]:
            self.assert_refused("train", self.recipe, "--out", self.path / "x", *self.options(**values), stdout=None,
                                mentions=(mention,))


if __name__ == "__main__":
    unittest.main()
