"""heed train with a recipe of stages: what it leaves, killing and resuming, and what it refuses."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import tomllib
import unittest

import train_cli
from heed_cli import BINARY, SOURCE, heed
from mpirun import MPIRUN, PLUGIN

WORDS = {"ein": "a", "der": "the", "Hund": "dog", "Kind": "child", "Haus": "house", "sieht": "sees", "malt": "paints"}
COMMON = """
[files]
source = "train.de"
target = "train.en"

[model]
model = 32
inner = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 40
tie = "all"

[data]
train_source = ["file:source"]
train_target = ["file:target"]
max_length = 30
batch_target_tokens = 200

[tokenizer]
kind = "char"
vocabulary = 0

[schedule]
peak = 0.005
warmup = 10

[training]
precision = "f32"
updates = 30
accumulate = 2
log_every = 1000

[checkpoints]
final = "last"
every = 10
"""
STAGES = """
[[stages]]
name = "teacher"

[[stages]]
name = "made"
kind = "translate"
from = "teacher"
input = "file:source"
beam = 2
n_best = 2

[[stages]]
name = "student"
from = "teacher"
schedule.peak = 0.001
training = { updates = 20, seed = 3 }
[stages.data]
train_source = ["file:source", "stage:made/source"]
train_target = ["file:target", "stage:made/target"]

[[stages]]
name = "list"
kind = "shortlist"
from = "student"
source = "file:source"
target = "stage:made/target"

[[stages]]
name = "small"
kind = "quantize"
from = "student"
keep = ["source.tokens=bf16"]
"""
QUICK = ("--threads", "1")


class RecipeStages(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        lines = [[draw.choice(list(WORDS)) for _ in range(draw.randint(2, 5))] for _ in range(240)]
        self.file("train.de", "".join(" ".join(line) + "\n" for line in lines))
        self.file("train.en", "".join(" ".join(WORDS[word] for word in line) + "\n" for line in lines))
        self.use(STAGES.replace('target = "stage:made/target"', 'target = "file:target"'))

    def use(self, stages):
        self.recipe = self.file("recipe.toml", COMMON + stages)

    def lines(self, name):
        return (self.path / name).read_text().splitlines()

    def test_leaves_a_model_that_every_command_takes(self):
        result = self.train("run", *QUICK)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for number, what in enumerate(("teacher: train", "made: translate", "student: train", "list: shortlist",
                                       "small: quantize"), 1):
            self.assertIn(f"stage {number} of 5, {what}\n", result.stdout)
        run, stages = self.path / "run", self.path / "run" / "stages"
        self.assertEqual((run / "model.safetensors").read_bytes(), (stages / "small" / "model.safetensors").read_bytes())
        self.assertEqual((run / "recipe.toml").read_bytes(), (stages / "student" / "recipe.toml").read_bytes())
        self.assertEqual((run / "shortlist").read_bytes(), (stages / "list" / "shortlist").read_bytes())
        self.assertEqual(self.lines("run/stages/made/source"),
                         [line for line in self.lines("train.de") for _ in range(2)])
        self.assertEqual(len(self.lines("run/stages/made/target")), 480)
        student = tomllib.loads((stages / "student" / "recipe.toml").read_text())
        self.assertEqual(student["data"]["train_source"], [str(self.path / "train.de"), str(stages / "made" / "source")])
        self.assertEqual((student["schedule"]["peak"], student["training"]["from"]), (0.001, str(stages / "teacher")))
        self.assertEqual([stage["kind"] for stage in tomllib.loads((run / "stages.toml").read_text())["stages"]],
                         ["train", "translate", "train", "shortlist", "quantize"])
        text = (self.path / "train.de").read_text()
        expected = heed("translate", "--model", stages / "teacher", "--beam", 2, "--n-best", 2, text=text).stdout
        self.assertEqual(self.lines("run/stages/made/target"), [line.split(" ||| ")[1] for line in expected.splitlines()])
        for command in (("translate", "--model", run, "--shortlist", run / "shortlist"), ("inspect", run), ("report", run)):
            result = heed(*command, text="der Hund sieht ein Haus\n")
            self.assertEqual((result.returncode, result.stderr), (0, ""), command)
        self.assertIn(f"The last of several stages, which {run}/stages.toml lists", result.stdout)

    def test_a_finished_run_is_not_run_again(self):
        self.train("run", *QUICK)
        before = {path: path.stat().st_mtime_ns for path in (self.path / "run" / "stages").rglob("*") if path.is_file()}
        result = self.train("run", *QUICK, "--resume")
        self.assertEqual((result.returncode, result.stderr, result.stdout.count(", finished before")), (0, "", 5))
        after = {path: path.stat().st_mtime_ns for path in (self.path / "run" / "stages").rglob("*") if path.is_file()}
        self.assertEqual(after, before)
        self.assert_refused("train", self.recipe, "--out", self.path / "run", mentions=["holds a run of stages already"])
        self.assert_refused("train", self.recipe, "--out", self.path / "run", "--resume", "--set", "stages.made.beam=3",
                            mentions=["stage.toml", "beam was 2 and is 3 now"], stdout=None)
        self.assert_refused("train", self.recipe, "--out", self.path / "run", "--resume", "--set",
                            "stages.student.training.seed=4", mentions=["training.seed was 3 and is 4"], stdout=None)

    def test_trainings_that_have_an_end_share_the_time(self):
        self.use("""
[[stages]]
name = "teacher"
ends_by = 0.03
schedule = { kind = "timed-cosine" }
training.updates = 0

[[stages]]
name = "made"
kind = "translate"
from = "teacher"
input = "file:source"

[[stages]]
name = "student"
from = "teacher"
ends_by = 0.15
schedule = { kind = "timed-cosine" }
training.updates = 0
data.train_source = ["stage:made/source"]
""")
        begin = time.monotonic()
        result = self.train("run", *QUICK)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        whole = time.monotonic() - begin
        taken = {stage: float((self.path / "run/stages" / stage / "finished").read_text().split()[0])
                 for stage in ("teacher", "made", "student")}
        minutes = {stage: tomllib.loads((self.path / "run/stages" / stage / "recipe.toml").read_text())["training"]["minutes"]
                   for stage in ("teacher", "student")}
        self.assertEqual(minutes["teacher"], 0.03)
        self.assertAlmostEqual(60 * minutes["student"], max(0.72, 9.0 - taken["teacher"] - taken["made"]), delta=0.01)
        # The last validation is part of the minutes: updates end as long before as the one before it took, or half way.
        self.assertGreaterEqual(whole, taken["teacher"] + taken["made"] + 0.5 * 60 * minutes["student"])
        # As a run that is resumed in its last stage: what is finished was taken from its time.
        shutil.rmtree(self.path / "run/stages/student")
        (self.path / "run/stages/made/finished").write_text("2.0 s\n")
        self.assertEqual(self.train("run", *QUICK, "--resume").returncode, 0)
        student = tomllib.loads((self.path / "run/stages/student/recipe.toml").read_text())
        self.assertAlmostEqual(60 * student["training"]["minutes"], max(0.72, 7.0 - taken["teacher"]), delta=0.01)

    def test_killed_in_any_stage_it_resumes_to_the_same_bits(self):
        # Enough lines for several parts of the translation.
        for side in ("train.de", "train.en"):
            self.file(side, (self.path / side).read_text() * 20)
        begin = time.perf_counter()
        self.train("unbroken", *QUICK)
        whole = time.perf_counter() - begin
        draw, kills, stages = random.Random(11), 0, set()
        while True:
            arguments = [BINARY, "train", str(self.recipe), "--out", str(self.path / "killed"), *QUICK]
            begun = (self.path / "killed" / "stages.toml").exists()
            process = subprocess.Popen(arguments + ["--resume"] * begun, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                # Short, as the machine may have had other work while the whole was timed.
                out, error = process.communicate(timeout=draw.uniform(0.02, 0.12) * whole if kills < 24 else 120)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                out, _ = process.communicate()
                kills += 1
                stages.update(out.splitlines()[-1:])
                continue
            self.assertEqual((process.returncode, error), (0, ""))
            break
        self.assertGreater(kills, 3)
        for name in ("model.safetensors", "shortlist", "stages/made/target", "stages/student/model.safetensors"):
            self.assertEqual((self.path / "killed" / name).read_bytes(), (self.path / "unbroken" / name).read_bytes(), name)

    def test_what_a_killed_translation_has_is_kept(self):
        self.use(STAGES.partition('[[stages]]\nname = "student"')[0])
        for side in ("train.de", "train.en"):
            self.file(side, (self.path / side).read_text() * 20)
        self.train("run", *QUICK)
        made = self.path / "run" / "stages" / "made"
        whole = (made / "target").read_text()
        for name in ("finished", "source", "target"):
            (made / name).unlink()
        (made / "parts").mkdir()
        pairs = ["".join(f"{side} {line}\n" for line in range(4000)) for side in ("source", "target")]
        for side, text in zip(("source", "target"), pairs):
            (made / "parts" / f"{side}-000000").write_text(text)
        result = self.train("run", *QUICK, "--resume")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual((made / "target").read_text(), pairs[1] + "".join(whole.splitlines(True)[4000:]))
        self.assertFalse((made / "parts").exists())

    @unittest.skipIf(shutil.which("mpirun") is None or not PLUGIN.exists(), "mpirun or heed's MPI part is missing")
    def test_ranks_give_the_bits_of_one_process(self):
        self.train("one", *QUICK)
        result = subprocess.run([*MPIRUN, "-n", "2", BINARY, "train", str(self.recipe), "--out", str(self.path / "two"), *QUICK],
                                capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("stage 2 of 5, made: translate\n"), 1)
        for name in ("model.safetensors", "stages/made/target", "stages/student/model.safetensors"):
            self.assertEqual((self.path / "two" / name).read_bytes(), (self.path / "one" / name).read_bytes(), name)

    def test_a_setting_is_for_all_trainings_or_for_one_stage(self):
        self.train("run", *QUICK, "--set", "training.updates=4", "--set", "stages.student.training.updates=6",
                   "--set", "stages.made.n_best=1", "--set", f"files.target={self.path / 'train.de'}")
        run = self.path / "run"
        recipes = [tomllib.loads((run / "stages" / name / "recipe.toml").read_text()) for name in ("teacher", "student")]
        self.assertEqual([recipe["training"]["updates"] for recipe in recipes], [4, 6])
        self.assertEqual(recipes[0]["data"]["train_target"], [str(self.path / "train.de")])
        self.assertEqual(len(self.lines("run/stages/made/target")), 240)

    def test_plans_and_inspects_what_is_not_there_yet(self):
        result = heed("plan", self.recipe, "--no-run")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?s)^stage teacher\n.*the recipe's 30 updates.*\n\nstage student\n.*20 updates")
        result = heed("inspect", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("stage made: translate from teacher\n", result.stdout)
        self.assert_refused("prepare", self.recipe, "--out", self.path / "corpus",
                            mentions=["recipe.toml", "is a recipe of [[stages]], expected one of a single training"])

    def test_a_stage_that_failed_may_be_resumed_with_other_settings(self):
        arguments = [*QUICK, "--set", "training.updates=2", "--set", "stages.student.training.updates=2"]
        self.assert_refused("train", self.recipe, "--out", self.path / "run", *arguments, "--set",
                            "stages.made.source_language=de", mentions=["de"], stdout=None)
        self.assertTrue((self.path / "run" / "stages" / "made" / "stage.toml").exists())
        result = self.train("run", *arguments, "--resume")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_an_unfinished_run_is_no_model_yet(self):
        self.use(STAGES + '[[stages]]\nname = "last"\nfrom = "student"\ndata.max_length = 1\n')
        self.assert_refused("train", self.recipe, "--out", self.path / "run", *QUICK, stdout=None)
        self.assert_refused("translate", "--model", self.path / "run", text="ein\n",
                            mentions=["its stages are not finished, and their models are in", "run/stages"])

    def test_refuses_what_makes_no_sense(self):
        stage = '[[stages]]\nname = "{}"\n{}\n'.format
        for stages, mentions in (
                (stage("a", 'from = "b"') + stage("b", 'from = "c"') + stage("c", 'from = "a"'),
                 "stages name each other in a circle: a -> b -> c -> a"),
                (stage("a", 'from = "a"'), "stages name each other in a circle: a -> a"),
                (stage("a", "") + stage("b", 'data.train_source = ["stage:c/target"]\nfrom = "a"')
                 + stage("c", 'kind = "translate"\nfrom = "b"\ninput = "file:source"'), "in a circle: b -> c -> b"),
                (stage("a", 'from = "b"') + stage("b", ""), "stage a cannot begin from b, which comes after it"),
                (stage("a", 'data.train_source = ["stage:b/target"]') + stage("b", 'kind = "translate"\ninput = "x"\nmodel = "m"'),
                 "stage a names b, which comes after it"),
                (stage("a", 'from = "teacher"'), "there is no stage 'teacher'"),
                (stage("teach", "") + stage("b", 'from = "teacher"'), "did you mean 'teach'?"),
                (stage("a", 'data.train_source = ["file:sauce"]'), "stage a names file:sauce, but [files] has no 'sauce'"),
                (stage("a", "") + stage("a", ""), "two stages are called 'a'"),
                (stage("../a", ""), "expected a name of letters"),
                (stage("a", 'kind = "distill"'), "'distill' is not one of train, translate, shortlist, quantize"),
                (stage("a", "beam = 4"), "unknown key 'beam'"),
                (stage("a", "") + stage("b", 'kind = "translate"\nfrom = "a"\ninput = "file:source"\ntraining.updates = 3'),
                 "b has no table [training]"),
                (stage("a", "") + stage("b", 'kind = "translate"\nfrom = "a"'), "stage b: translate: names no input"),
                (stage("a", "") + stage("b", 'kind = "translate"\ninput = "file:source"'), "stage b: translate: needs a model"),
                (stage("a", "") + stage("b", 'kind = "translate"\nfrom = "a"\ninput = "file:source"\nn_best = 5'),
                 "stage b: search: n-best is 5, expected 1 to the beam"),
                (stage("a", "") + stage("b", 'kind = "translate"\nfrom = "a"\ninput = "file:source"\ngroups = 3'),
                 "stage b: search: groups is 3, expected a number that divides the beam of 4"),
                (stage("a", "") + stage("b", 'kind = "quantize"\nfrom = "a"\nkeep = ["x=int3"]'),
                 "stage b: keep: 'int3' is not one of int8"),
                (stage("a", "") + stage("b", 'kind = "translate"\nfrom = "a"\ninput = "nowhere.de"'),
                 "stage b names nowhere.de as its input, which does not exist"),
                (stage("a", "") + stage("b", 'kind = "quantize"\nfrom = "a"') + stage("c", 'from = "b"'),
                 "stage c is from b, whose weights are quantized"),
                (stage("a", "") + stage("b", 'data.train_source = ["stage:a/target"]'), "but a train stage leaves stage:a"),
                (stage("a", "training.updates = 0"), "stage a: recipe: nothing would end the run"),
                (stage("a", "ends_by = 1\ntraining.minutes = 1"), "stage a has ends_by"),
                (stage("a", "ends_by = 2") + stage("b", "ends_by = 2"), "stage b ends by minute 2, expected more than 2"),
                (stage("a", "ends_by = -1"), "stage a: train: ends_by is -1"),
                (stage("a", 'model.heads = "two"'), "heads must be an integer"),
                (stage("a", 'kind = "translate"\nmodel = "m"\ninput = "file:source"'), "no stage leaves a model"),
                ("stages = 3\n", "stages must be tables, each [[stages]]")):
            with self.subTest(mentions):
                self.use(stages) if stages.startswith("[[") else self.file("recipe.toml", stages + COMMON)
                self.assert_refused("train", self.recipe, "--out", self.path / "run", mentions=["recipe.toml", mentions])
                self.assertFalse((self.path / "run").exists())

    def test_refuses_settings_of_no_stage(self):
        for change, mentions in (("stages.mad.beam=3", "there is no stage 'mad', did you mean 'made'?"),
                                 ("stages.made.training.updates=3", "a translate stage has no tables"),
                                 ("stages.made", "expected stages.NAME.key=value"),
                                 ("files.other=x", "has no 'other'"),
                                 (f"stages.made.input={self.path}/run/stages-of-before", "which does not exist"),
                                 ("stages.student.from=student", "stage student cannot begin from itself"), ("stages.made.beem=3", "did you mean 'beam'?")):
            self.assert_refused("train", self.recipe, "--out", self.path / "run", "--set", change, mentions=[mentions])
        self.assert_refused("train", self.recipe, "--out", self.path / "run", "--resume",
                            mentions=["holds no run of stages to resume"])
        self.assertFalse((self.path / "run").exists())

    def test_a_text_that_cannot_be_learned_from_leaves_nothing(self):
        self.file("train.en", "one line\n")
        self.assert_refused("train", self.recipe, "--out", self.path / "run", mentions=["train.de"], stdout=None)
        self.assertFalse((self.path / "run").exists())


class BothWays(train_cli.TrainTest):
    def test_the_projects_recipe_learns_both_directions_and_then_one(self):
        data = pathlib.Path(os.environ.get("HEED_DATA", SOURCE.parent / "shared" / "data")) / "multi30k"
        if not (data / "train.de").exists():
            self.skipTest("Multi30k is not there")
        files = []
        for part, lines in (("train", 300), ("val", 20)):
            for language, side in (("de", "source"), ("en", "target")):
                text = (data / f"{part}.{language}").read_text().splitlines(True)[:lines]
                name = side if part == "train" else "validation_" + side
                files += ["--set", f"files.{name}={self.file(f'{part}.{language}', ''.join(text))}"]
        self.recipe = SOURCE / "recipes" / "both-ways.toml"
        result = self.train("run", *files, "--set", "model.model=32", "--set", "model.heads=2", "--set", "model.inner=64",
                            "--set", "model.encoder_layers=1", "--set", "model.decoder_layers=1", "--set",
                            "tokenizer.vocabulary=300", "--set", "training.updates=10", "--set", "stages.to-target.beam=1",
                            "--set", "stages.to-source.beam=1", *QUICK)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        stages = self.path / "run" / "stages"
        both, one = (tomllib.loads((stages / name / "recipe.toml").read_text()) for name in ("both-ways", "one-way"))
        source, target = (str(self.path / f"train.{language}") for language in ("de", "en"))
        self.assertEqual((both["data"]["train_source"], both["data"]["train_target"]), ([source, target], [target, source]))
        self.assertEqual(one["data"]["train_source"], [source, source, str(stages / "to-source" / "target")])
        self.assertEqual(one["data"]["train_target"], [target, str(stages / "to-target" / "target"), target])
        self.assertEqual((both["schedule"]["peak"], both["schedule"]["length"]), (0.004, 7500))
        self.assertEqual((one["schedule"]["peak"], one["schedule"]["warmup"], one["schedule"]["length"]), (0.002, 200, 3500))


if __name__ == "__main__":
    unittest.main()
