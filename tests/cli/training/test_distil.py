"""heed train with a teacher: students of translators, language models and encoders, and what they are refused."""

import json
import random
import shutil
import subprocess
import tomllib
import unittest

import train_cli
from heed_cli import BINARY, heed
from mpirun import MPIRUN, PLUGIN

WORDS = {"ein": "a", "der": "the", "Hund": "dog", "Kind": "child", "Haus": "house", "sieht": "sees", "malt": "paints"}
SIZES = """
[model]
architecture = "{architecture}"
model = {model}
inner = {inner}
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 40
embedding_dropout = 0.0
attention_dropout = 0.0
inner_dropout = 0.0
branch_dropout = 0.0
"""
TRAINING = """
[schedule]
kind = "constant"
peak = 0.005
warmup = 10

[training]
precision = "f32"
updates = {updates}
log_every = 20
smoothing = 0.0
{more}

[checkpoints]
final = "last"

{rest}
"""
TOKENIZER = '\n[tokenizer]\nkind = "char"\nvocabulary = 0\n'
QUICK = ("--threads", "1")


class Distil(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        lines = [[draw.choice(list(WORDS)) for _ in range(draw.randint(2, 5))] for _ in range(160)]
        self.file("train.de", "".join(" ".join(line) + "\n" for line in lines))
        self.file("train.en", "".join(" ".join(WORDS[word] for word in line) + "\n" for line in lines))
        self.file("labeled.tsv", "".join(f"{' '.join(line)}\t{'dog' if 'Hund' in line else 'none'}\n" for line in lines))
        self.data = {
            "translation": '\n[data]\ntrain_source = ["train.de"]\ntrain_target = ["train.en"]\nmax_length = 30\n'
                           'batch_target_tokens = 300\n',
            "language-model": '\n[data]\ntrain = ["train.de"]\ncontext = 24\nbatch_sequences = 8\ndocuments = "line"\n',
            "masked-lm": '\n[data]\ntrain = ["train.de"]\ncontext = 24\nbatch_sequences = 8\ndocuments = "line"\n',
            "classify": '\n[data]\ntrain = ["labeled.tsv"]\nbatch_sequences = 16\n'}

    def write(self, name, task, model, updates, *, more="", rest="", tokenizer=TOKENIZER, data=None):
        architecture = {"translation": "seq2seq", "language-model": "causal-lm"}.get(task, "encoder")
        self.recipe = self.file(name, SIZES.format(architecture=architecture, model=model, inner=2 * model)
                                + (data or self.data[task]) + tokenizer
                                + TRAINING.format(updates=updates, more=more or f'task = "{task}"', rest=rest))

    def teach(self, task, updates=60):
        self.write("teacher.toml", task, 32, updates)
        result = self.train("teacher", *QUICK)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def learn(self, task, name, *more, weight=0.5, temperature=1.0, updates=60):
        self.write("student.toml", task, 16, updates, more='task = "distil"', tokenizer="",
                   rest=f'[distil]\nteacher = "teacher"\nweight = {weight}\ntemperature = {temperature}\n')
        result = self.train(name, *QUICK, *more)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result

    def losses(self, name):
        events = [json.loads(line) for line in (self.path / name / "metrics.jsonl").read_text().splitlines()]
        return [event["loss"] for event in events if event["event"] == "train"]

    def test_students_of_every_task_come_nearer_to_their_teacher(self):
        for task in self.data:
            with self.subTest(task):
                for name in ("teacher", "student"):
                    shutil.rmtree(self.path / name, ignore_errors=True)
                self.teach(task)
                result = self.learn(task, "student", weight=1.0)
                self.assertIn("learns from", result.stdout)
                first, *_, last = self.losses("student")
                self.assertLess(last, 0.6 * first)
                recipe = tomllib.loads((self.path / "student" / "recipe.toml").read_text())
                self.assertEqual((recipe["training"]["task"], recipe["distil"]["weight"]), (task, 1.0))
                self.assertEqual(recipe["distil"]["teacher"], str(self.path / "teacher"))

    def test_without_a_share_of_the_teacher_it_learns_what_it_would_alone(self):
        self.teach("translation")
        self.learn("translation", "student", weight=0.0)
        tokenizer = self.path / "teacher" / "shared.tokenizer"
        files = f'source = "{tokenizer}"\ntarget = "{tokenizer}"\n'
        self.write("alone.toml", "translation", 16, 60, tokenizer="\n[tokenizer]\n" + files)
        self.train("alone", *QUICK)
        for with_teacher, alone in zip(self.losses("student"), self.losses("alone"), strict=True):
            # Roundings of 6e-8 in the losses' gradients, which 60 updates carry on.
            self.assertAlmostEqual(with_teacher, alone, delta=1e-5 * alone)

    def test_a_killed_student_resumes_to_the_same_bits(self):
        self.teach("translation")
        self.learn("translation", "first")
        self.assert_kills_change_nothing(*QUICK, "--set", "training.updates=120", "--set", "checkpoints.every=20", moments=3)

    def test_a_teacher_may_be_an_earlier_stage(self):
        stages = ('\n[[stages]]\nname = "large"\ntraining.updates = 40\n\n[[stages]]\nname = "small"\nmodel.model = 16\n'
                  'training.task = "distil"\ndistil = { teacher = "stage:large", weight = 0.8 }\n')
        self.write("recipe.toml", "translation", 32, 20, rest=stages)
        result = self.train("run", *QUICK)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(f"tokenizer: that of {self.path}/run/stages/large, the teacher", result.stdout)
        recipe = tomllib.loads((self.path / "run" / "recipe.toml").read_text())
        self.assertEqual((recipe["model"]["model"], recipe["distil"]["teacher"]), (16, f"{self.path}/run/stages/large"))
        result = heed("plan", self.recipe, "--no-run")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?s)stage small\n.*model 16")

    @unittest.skipIf(shutil.which("mpirun") is None or not PLUGIN.exists(), "mpirun or heed's MPI part is missing")
    def test_ranks_give_the_bits_of_one_process_and_hold_whole_models(self):
        shards = ("--set", "training.shards=2")
        self.teach("translation", updates=20)
        self.learn("translation", "one", *shards)
        job = [*MPIRUN, "-n", "2", BINARY, "train", str(self.recipe), *QUICK, *shards, "--out"]
        result = subprocess.run([*job, str(self.path / "two")], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.weights("two"), self.weights("one"))
        result = subprocess.run([*job, str(self.path / "parts"), "--layout", "tensor=2"], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 2)
        self.assertIn('distil.teacher: needs whole models on each rank, but the layout is', result.stderr)

    def test_refuses_what_no_teacher_can_teach(self):
        self.teach("translation", updates=2)
        rest = '[distil]\nteacher = "teacher"\n'
        for task, more, rest, tokenizer, mentions in (
                ("translation", 'task = "distil"', "", "", "training.task is \"distil\", which needs distil.teacher"),
                ("language-model", 'task = "distil"', rest, "",
                 "the student is a decoder-only language model, and the teacher in"),
                ("translation", "", rest + "weight = 1.5\n", "", "distil.weight is 1.5, expected 0 to 1"),
                ("translation", "", rest + "temperature = 0.0\n", "", "distil.temperature is 0, expected above 0"),
                ("translation", "", '[distil]\nteacher = "nowhere"\n', "", "nowhere: there is no such model directory")):
            with self.subTest(mentions):
                self.write("student.toml", task, 16, 5, more=more, rest=rest, tokenizer=tokenizer)
                self.assert_refused("train", self.recipe, "--out", self.path / "run", mentions=[mentions], stdout=None)
                self.assertFalse((self.path / "run").exists())

    def test_refuses_a_student_with_another_vocabulary(self):
        self.teach("translation", updates=2)
        tokenizer = self.path / "other.tokenizer"
        result = heed("tokenizer", "train", "--kind", "char", "--out", tokenizer, "--input",
                      self.file("text", "abc\n"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.write("student.toml", "translation", 16, 5, rest='[distil]\nteacher = "teacher"\n',
                   tokenizer=f'\n[tokenizer]\nsource = "{tokenizer}"\ntarget = "{tokenizer}"\n')
        self.assert_refused("train", self.recipe, "--out", self.path / "run", stdout=None,
                            mentions=["distil.teacher: the student's source vocabulary is not that of", "take the teacher's tokenizers"])
        self.assertFalse((self.path / "run").exists())


if __name__ == "__main__":
    unittest.main()
