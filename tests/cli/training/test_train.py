"""heed train from outside: what it leaves behind, killing and resuming, and what it refuses."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import heed_cli
import train_cli
from heed_cli import BINARY, heed
from terminal import PROGRESS, Terminal

RECIPE = """
[model]
model = 32
inner = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 64
tie = "all"

[data]
train_source = ["{folder}/train.de"]
train_target = ["{folder}/train.en"]
validation_source = ["{folder}/valid.de"]
validation_target = ["{folder}/valid.en"]
max_length = 40
batch_target_tokens = 200

[tokenizer]
kind = "word"
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
moving_average = 0.9
"""

SUBJECTS = {"der Mann": "the man", "die Frau": "the woman", "das Kind": "the child", "der Hund": "the dog"}
VERBS = {"sieht": "sees", "kennt": "knows", "sucht": "looks for", "malt": "paints"}
OBJECTS = {"die Stadt": "the city", "das Haus": "the house", "die Katze": "the cat", "das Buch": "the book"}
PAIRS = [(f"{a} {b} {c}.", f"{x} {y} {z}.")
         for a, x in SUBJECTS.items() for b, y in VERBS.items() for c, z in OBJECTS.items()]


class TranslationTest(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        self.write("train", PAIRS)
        self.write("valid", PAIRS[:9])
        self.recipe = self.file("recipe.toml", RECIPE.format(folder=self.path))

    def write(self, name, pairs):
        self.file(f"{name}.de", "".join(source + "\n" for source, _ in pairs))
        self.file(f"{name}.en", "".join(target + "\n" for _, target in pairs))


class Train(TranslationTest):
    def test_it_leaves_a_model_directory(self):
        result = self.train("run")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("64 lines, 64 kept, 0 dropped", result.stdout)
        self.assertIn("validation at update 60", result.stdout)
        self.assertNotIn("\r", result.stdout)
        names = {path.name for path in (self.path / "run").iterdir()}
        self.assertEqual(names, {"model.safetensors", "config.json", "shared.tokenizer", "recipe.toml", "metrics.jsonl",
                                 "checkpoints"})
        events = [json.loads(line) for line in (self.path / "run" / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([e["update"] for e in events if e["event"] == "train"], [10, 20, 30, 40, 50, 60])
        self.assertEqual([e["update"] for e in events if e["event"] == "validation"], [20, 40, 60])
        self.assertEqual((events[0]["event"], events[-1]["event"], events[-1]["reason"]), ("start", "end", "updates"))
        self.assertLess(events[-2]["loss"], events[2]["loss"])

    def test_a_run_that_is_resumed_on_another_kind_of_processor_says_so(self):
        def arithmetic(update):
            state = self.path / "run" / "checkpoints" / f"update-{update:08}" / "state.json"
            return json.loads(state.read_text())["arithmetic"]

        least = heed_cli.CPU_LIMITS[0]
        bf16 = ("--set", "training.precision=bf16")
        self.train("run", *bf16, "--set", "training.updates=5", environment={"HEED_CPU": least})
        before = arithmetic(5)
        self.assertRegex(before, "^cpu, (NEON|SSE4)$")
        same = self.train("run", "--resume", *bf16, "--set", "training.updates=10", environment={"HEED_CPU": least})
        self.assertEqual(same.returncode, 0)
        self.assertNotIn("other bits", same.stdout)
        other = self.train("run", "--resume", *bf16, "--set", "training.updates=15")
        self.assertEqual(other.returncode, 0)
        now = arithmetic(15)
        if now == before:
            self.skipTest(f"this processor has only {before}")
        self.assertIn(f"so far it was computed by {before}, and now by {now}: from here on it has other bits", other.stdout)

    def test_killed_at_any_moment_it_resumes_to_the_same_bits(self):
        self.assert_kills_change_nothing("--set", "training.updates=300", moments=8)

    def test_an_interrupt_saves_a_checkpoint_and_stops(self):
        process = subprocess.Popen([BINARY, "train", str(self.recipe), "--out", str(self.path / "run"), "--set",
                                    "training.updates=100000"], stdout=subprocess.PIPE, text=True)
        while not list((self.path / "run" / "checkpoints").glob("update-*[1-9]*")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=60 * heed_cli.PATIENCE)[0]
        self.assertEqual(process.returncode, 0)
        self.assertRegex(output, r"(?m)^stopped; .*run, and the same command with --resume continues$")
        self.assertNotIn("ended by", output)
        self.assertTrue((self.path / "run" / "model.safetensors").exists())

    def test_an_interrupt_saves_even_if_nobody_reads_the_output(self):
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 8192)
        run = self.path / "run"
        metrics = run / "metrics.jsonl"
        process = subprocess.Popen([BINARY, "train", str(self.recipe), "--out", str(run), "--set",
                                    "training.updates=100000"], stdout=writing)
        os.close(writing)
        sizes = [0]
        while len(sizes) < 5 or sizes[-1] != sizes[-5] or sizes[-1] == 0:  # until the pipe is full
            time.sleep(0.1)
            sizes.append(metrics.stat().st_size if metrics.exists() else 0)
        process.send_signal(signal.SIGINT)
        try:
            self.assertEqual(process.wait(timeout=60 * heed_cli.PATIENCE), 0)
        finally:
            os.close(reading)
        self.assertEqual(json.loads(metrics.read_text().splitlines()[-1])["reason"], "stopped")
        self.assertTrue((run / "model.safetensors").exists())

    def test_an_interrupt_while_the_text_is_read_ends_it_at_once(self):
        os.remove(self.path / "train.de")
        os.mkfifo(self.path / "train.de")
        process = subprocess.Popen([BINARY, "train", str(self.recipe), "--out", str(self.path / "run")],
                                   stdout=subprocess.DEVNULL)
        with open(self.path / "train.de", "w"):  # opens as soon as heed reads
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60 * heed_cli.PATIENCE), -signal.SIGINT)
        self.assertFalse((self.path / "run").exists())

    def test_every_key_can_be_set(self):
        self.write("other", PAIRS[:32])
        result = self.train("run", "--set", f"data.train_source={self.path}/other.de,{self.path}/train.de", "--set",
                            f"data.train_target=['{self.path}/other.en', '{self.path}/train.en']", "--set",
                            "training.updates=5", "--set", "tokenizer.kind=char", "--set", "validation.bleu=false",
                            "--set", "validation.best_by=loss")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("96 lines, 96 kept", result.stdout)
        self.assertIn("other.de", (self.path / "run" / "recipe.toml").read_text())

    def refuse(self, *mentions, more=()):
        # Some come after messages about the text.
        self.assert_refused("train", self.recipe, "--out", self.path / "refused", *more, mentions=mentions, stdout=None)
        self.assertFalse((self.path / "refused" / "model.safetensors").exists())

    def test_it_refuses_options_that_make_no_sense(self):
        self.refuse("peka", "peak", more=("--set", "schedule.peka=1"))
        self.refuse("schedul", "schedule", more=("--set", "schedul.peak=1"))
        self.refuse("must be a number", more=("--set", "schedule.peak=true"))
        self.refuse("nothing would end the run", more=("--set", "training.updates=0"))
        self.refuse("heads 3 does not divide model 32", more=("--set", "model.heads=3"))
        self.refuse("holds no run to resume", more=("--resume",))
        self.assert_refused("train", self.path / "none.toml", "--out", self.path / "x", mentions=("none.toml",))
        self.assert_refused("train", self.recipe, mentions=("--out",))

    def test_it_begins_from_another_model_and_refuses_a_folder_that_is_not_a_model(self):
        self.train("first", "--set", "training.updates=5")
        begun = self.train("second", "--set", f"training.from={self.path}/first", "--set", "model.branch_dropout=0.2")
        self.assertEqual((begun.returncode, begun.stderr), (0, ""))
        self.assertRegex(begun.stdout, r"(?m)^(\d+) of \1 weights taken from .*; 0 start from random values, .*"
                                       r"model\.branch_dropout was 0\.1, is 0\.2$")
        self.refuse("no such model directory", more=("--set", f"training.from={self.path}/nowhere"))
        small = self.path / "small"
        self.assertEqual(heed("quantize", "--model", self.path / "first", "--out", small).returncode, 0)
        self.refuse("which cannot be changed exactly", more=("--set", f"training.from={small}"))
        self.refuse("none of its weights fits", "F32[", more=(
            "--set", f"training.from={self.path}/first", "--set", "model.model=16", "--set", "model.inner=32", "--set",
            "model.output_bias=false"))

    def test_it_trains_an_adapter_that_runs_and_merges_into_a_plain_model(self):
        base, adapter, merged = self.path / "base", self.path / "adapter", self.path / "merged"
        self.train("base", "--set", "training.updates=20")
        more = ("--set", f"training.from={base}", "--set", "adapter.rank=4", "--set", "training.updates=20")
        trained = self.train("adapter", *more)
        self.assertEqual((trained.returncode, trained.stderr), (0, ""))
        self.assertRegex(trained.stdout, r"(?m)^\d+ parameters \(\d+ trained, \d+ frozen\), ")
        self.assertLess((adapter / "adapter.safetensors").stat().st_size, (base / "model.safetensors").stat().st_size / 3)
        self.assertFalse((adapter / "model.safetensors").exists())
        text = "".join(source + "\n" for source, _ in PAIRS[:5])
        plain = heed("merge", "--adapter", adapter, "--out", merged)
        self.assertEqual((plain.returncode, plain.stdout, plain.stderr), (0, "", ""))
        from_adapter, from_merged = (heed("translate", "--model", model, text=text) for model in (adapter, merged))
        self.assertEqual((from_adapter.returncode, from_adapter.stderr), (0, ""))
        self.assertEqual(from_adapter.stdout, from_merged.stdout)
        probed = [heed("inspect", model, "--probe", "--json") for model in (base, adapter, merged)]
        self.assertEqual([probe.returncode for probe in probed], [0, 0, 0], probed[1].stderr)
        self.assertEqual(probed[1].stdout, probed[2].stdout)
        self.assertNotEqual(probed[1].stdout, probed[0].stdout)
        self.assert_refused("merge", "--adapter", adapter, "--model", merged, "--out", self.path / "x",
                            mentions=("belongs to another model",))
        self.assert_refused("merge", "--adapter", base, "--out", self.path / "x", mentions=("is not an adapter",))
        self.assert_refused("merge", "--adapter", adapter, "--out", merged, mentions=("holds a model already",))
        table = heed("inspect", adapter)
        self.assertRegex(table.stdout, rf"(?m)^adapter of rank 4 and alpha 16 for \d+ matrices; base {base.resolve()}$")
        self.assertRegex(table.stdout, r"(?m)^encoder\.layers\.0\.attention\.output\.weight .* frozen$")
        self.assertRegex(table.stdout, r"(?m)^encoder\.layers\.0\.attention\.output\.adapter_a .* f32 +512 bytes$")
        self.assertRegex(table.stdout, r"(?m)^bytes +(\d+): \1 in f32$")
        page = self.path / "page.html"
        self.assertEqual(heed("report", adapter, "--out", page).returncode, 0)
        self.assertRegex(page.read_text(), r"<dt>Adapter</dt><dd>rank 4<small>alpha 16, \d+ adapted weights, base ../base<")
        self.assertIn("<dt>Trained</dt>", page.read_text())
        base.rename(self.path / "away")
        report = heed("report", adapter, "--out", page)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        self.assertIn("base is not in", page.read_text())
        self.assertIn(f"base {base.resolve()}, which is not there", heed("inspect", adapter).stdout)
        (self.path / "away").rename(base)
        self.refuse("set training.from", more=("--set", "adapter.rank=4"))
        self.refuse("adapter.rank is -1", more=(*more, "--set", "adapter.rank=-1"))
        self.refuse("*atention*", "the nearest is", more=(*more, "--set", "adapter.matrices=*atention*"))
        self.refuse("encodr.*", "the nearest is 'encoder.", more=("--set", "training.freeze=encodr.*"))
        (adapter / "adapter.json").write_text("{}")
        self.assert_refused("translate", "--model", adapter, text=text, mentions=("adapter.json",))

    def test_an_adapter_is_trained_on_quantized_weights_which_stay_as_they_are(self):
        base, text = self.path / "base", "".join(source + "\n" for source, _ in PAIRS[:5])
        self.train("base", "--set", "training.updates=20")
        forms = {"int8": (), "int8-static": ("--calibration", self.path / "train.de"), "int8-groups": (), "int4": (),
                 "bf16": (), "int8 and bf16": ("--keep", "*.feed_forward.*=bf16")}
        for form, options in forms.items():
            with self.subTest(form):
                small, adapter, merged = (self.path / f"{form}-{what}" for what in ("small", "adapter", "merged"))
                made = heed("quantize", "--model", base, "--out", small, "--type", form.split()[0], *options)
                self.assertEqual((made.returncode, made.stderr), (0, ""))
                before = (small / "model.safetensors").read_bytes()
                more = ("--set", f"training.from={small}", "--set", "adapter.rank=4", "--set", "training.updates=20",
                        "--set", "training.precision=f32", "--set", "checkpoints.moving_average=0")
                trained = self.train(f"{form}-adapter", *more)
                self.assertEqual((trained.returncode, trained.stderr), (0, ""))
                self.assertRegex(trained.stdout, r"(?m)^(\d+) of \1 weights taken from ")
                losses = [float(loss) for loss in re.findall(r"(?m)^validation at .*? loss (\d+\.\d+)", trained.stdout)]
                self.assertEqual(len(losses), 1, trained.stdout)
                self.assertEqual((small / "model.safetensors").read_bytes(), before)
                self.assertFalse((adapter / "model.safetensors").exists())
                found = heed("translate", "--model", adapter, "--precision", "f32", text=text)
                self.assertEqual((found.returncode, found.stderr), (0, ""))
                self.assertEqual(heed("merge", "--adapter", adapter, "--out", merged).returncode, 0)
                plain = heed("translate", "--model", merged, "--precision", "f32", text=text)
                self.assertEqual((plain.returncode, plain.stderr), (0, ""))
                if form == "bf16":  # integers multiply rows that are rounded to integers
                    self.assertEqual(plain.stdout, found.stdout)
                again = heed("quantize", "--model", merged, "--out", self.path / f"{form}-again")
                self.assertEqual((again.returncode, again.stderr), (0, ""))
        adapter = self.path / "int8-adapter"
        self.assertRegex(heed("inspect", adapter).stdout, r"(?m)^adapter of rank 4 .* base .*int8-small$")
        self.assertEqual(heed("inspect", adapter, "--probe").returncode, 0)
        self.assertEqual(heed("report", adapter, "--out", self.path / "page.html").returncode, 0)
        self.assert_refused("quantize", "--model", adapter, "--out", self.path / "x", mentions=("with heed merge",))
        self.assert_refused("merge", "--adapter", adapter, "--model", base, "--out", self.path / "x",
                            mentions=("belongs to another model",))
        self.refuse("quantized weights", "or train an adapter on top of them ([adapter])",
                    more=("--set", f"training.from={self.path}/int8-small"))
        on_integers = ("--set", f"training.from={self.path}/int8-small", "--set", "adapter.rank=4")
        probed = json.loads(heed("inspect", self.recipe, *on_integers, "--probe", "--json").stdout)
        self.assertTrue(all(one["norm"] > 0.0 for one in probed["parameters"] if one["name"].endswith("inner.weight")))

    def test_a_plan_counts_the_bytes_of_a_quantized_base(self):
        base, small = self.path / "base", self.path / "small"
        self.train("base", "--set", "training.updates=5")
        self.assertEqual(heed("quantize", "--model", base, "--out", small).returncode, 0)
        for model in (base, small):
            options = ("--set", f"training.from={model}", "--set", "adapter.rank=4", "--set", "training.precision=f32")
            for run in ((), ("--no-run",)):
                plan = heed("plan", self.recipe, "--json", *run, *options)
                self.assertEqual((plan.returncode, plan.stderr), (0, ""))
            # bytes = 4 trained + tensors of the base's file. In f32 what is trained has no copy in another precision,
            # and what the file holds stays as it is. Before the tensors are the header and its length, in 8 bytes.
            content = (model / "model.safetensors").read_bytes()
            tensors = len(content) - 8 - int.from_bytes(content[:8], "little")
            planned = json.loads(plan.stdout)
            self.assertEqual(planned["memory"]["weights"], 4 * planned["trained_parameters"] + tensors, model)

    def test_a_plan_takes_an_unfinished_run_for_its_model_and_refuses_an_adapter(self):
        base, unfinished, adapter = self.path / "base", self.path / "unfinished", self.path / "adapter"
        self.train("base", "--set", "training.updates=5")
        shutil.copytree(base, unfinished)
        (unfinished / "model.safetensors").unlink()
        options = lambda model: ("--set", f"training.from={model}", "--set", "adapter.rank=4")
        trained = self.train("adapter", *options(base), "--set", "training.updates=5")
        self.assertEqual((trained.returncode, trained.stderr), (0, ""))
        plans = [heed("plan", self.recipe, "--no-run", "--json", *options(model)) for model in (base, unfinished)]
        self.assertEqual([(plan.returncode, plan.stderr) for plan in plans], [(0, "")] * 2)
        self.assertEqual(plans[1].stdout, plans[0].stdout)
        timed = heed("plan", self.recipe, *options(unfinished))
        self.assertEqual((timed.returncode, timed.stderr), (0, ""))
        for rank in (4, 0):
            self.assert_refused("plan", self.recipe, "--no-run", "--set", f"training.from={adapter}",
                                "--set", f"adapter.rank={rank}", mentions=("holds an adapter", "heed merge"))

    def test_inspect_and_plan_count_what_is_trained(self):
        table = heed("inspect", self.recipe, "--set", "training.freeze=encoder.*").stdout
        self.assertRegex(table, r"(?m)^encoder\.norm\.gain .* frozen$")
        self.assertRegex(table, r"(?m)^decoder\.norm\.gain .*\d$")
        trained = int(table.splitlines()[-1].split()[1])
        plan = json.loads(heed("plan", self.recipe, "--no-run", "--json", "--set", "training.freeze=encoder.*").stdout)
        self.assertEqual(plan["trained_parameters"], trained)
        self.assertLess(trained, plan["parameters"])

    def test_inspect_shows_the_weights_that_training_begins_with(self):
        base = self.path / "base"
        self.train("base", "--set", "training.updates=5")
        begun = ("--set", f"training.from={base}")
        norms = lambda *arguments: {one["name"]: (one["gradient_norm"], one["norm"]) for one in json.loads(
            heed("inspect", *arguments, "--probe", "--json").stdout)["parameters"]}
        own, taken, fresh = norms(base), norms(self.recipe, *begun), norms(self.recipe)
        self.assertEqual(taken, own)
        self.assertNotEqual(fresh, own)
        adapted = norms(self.recipe, *begun, "--set", "adapter.rank=2", "--set", "adapter.dropout=0.5")
        self.assertEqual({name: (None, norm) for name, (_, norm) in own.items()},
                         {name: pair for name, pair in adapted.items() if "adapter" not in name})
        b = adapted["encoder.layers.0.attention.output.adapter_b"]
        self.assertEqual(b[1], 0.0)
        self.assertGreater(b[0], 0.0)
        self.assertEqual(adapted["encoder.layers.0.attention.output.adapter_a"][0], 0.0)
        frozen = norms(self.recipe, "--set", "training.freeze=encoder.*")
        self.assertIsNone(frozen["encoder.norm.gain"][0])
        self.assertEqual(frozen["decoder.norm.gain"], fresh["decoder.norm.gain"])
        shown = heed("inspect", self.recipe, "--probe", "--set", "training.freeze=encoder.*").stdout
        self.assertRegex(shown, r"(?m)^encoder\.norm\.gain +\[\d+\] +frozen +")
        table = heed("inspect", self.recipe, *begun, "--set", "adapter.rank=2", "--set", "model.encoder_layers=2").stdout
        self.assertRegex(table, rf"(?m)^\d+ of \d+ weights taken from {base}; \d+ start from random values")
        self.assertRegex(table, r"(?m)^encoder\.layers\.0\.attention\.norm\.gain .* frozen$")
        self.assertRegex(table, r"(?m)^encoder\.layers\.1\.attention\.norm\.gain .*\d$")
        for command in (("inspect",), ("inspect", "--probe"), ("plan", "--no-run")):
            self.assert_refused(command[0], self.recipe, *command[1:], "--set", "adapter.rank=2",
                                mentions=("set training.from",))
            self.assert_refused(command[0], self.recipe, *command[1:], "--set", "training.from=/nonexistent",
                                mentions=("/nonexistent: there is no such model directory",))

    def test_files_are_found_beside_the_recipe_before_the_folder_where_it_was_started(self):
        here = self.path / "here"
        here.mkdir()
        plain = self.file("plain.toml", self.recipe.read_text().replace(f"{self.path}/", ""))
        self.assertEqual(self.train("whole", "--set", "training.updates=3").returncode, 0)
        for name in ("train.de", "train.en"):
            (here / name).write_text("x\n")
        started = heed("train", plain, "--out", self.path / "beside", "--set", "training.updates=3", cwd=here)
        self.assertEqual((started.returncode, started.stderr), (0, ""))
        self.assertEqual(self.weights("beside"), self.weights("whole"))
        shutil.move(self.path / "valid.de", here / "valid.de")
        started = heed("train", plain, "--out", self.path / "here too", "--set", "training.updates=3", cwd=here)
        self.assertEqual((started.returncode, started.stderr), (0, ""))
        self.assertEqual(self.weights("here too"), self.weights("whole"))

    def test_a_file_that_is_missing_is_named_with_the_folders_that_were_searched(self):
        here = self.path / "here"
        here.mkdir()
        plain = self.file("plain.toml", self.recipe.read_text().replace(f"{self.path}/", ""))
        (self.path / "train.de").unlink()
        for command in ("train", "prepare"):
            refused = heed(command, plain, "--out", self.path / "out", cwd=here)
            self.assertEqual((refused.returncode, refused.stderr), (2, f"heed: {plain}: data.train_source names train.de, "
                f"which does not exist: neither beside the recipe, in {self.path}, nor where heed was started, in {here}\n"))

    def test_it_refuses_text_that_does_not_fit(self):
        self.file("train.en", "one line\n")
        self.refuse("train.en", "64", "1")
        self.file("train.en", "")
        self.refuse("train.en")
        self.file("train.en", "".join(f"{target}\n" for _, target in PAIRS[:-1]).encode() + b"\xff\n")
        self.refuse("train.en:64", "UTF-8")
        os.remove(self.path / "train.en")
        self.refuse("train.en", "which does not exist")

    def kept(self, name, *more):
        result = self.train(name, "--set", "training.updates=2", "--set", "validation.bleu=false", "--set",
                            "validation.best_by=loss", *more)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()[0]

    def test_a_pair_that_is_too_long_is_treated_as_the_recipe_says(self):
        self.write("train", PAIRS + [("der Hund " * 40, "the dog")])
        self.assertIn("65 lines, 64 kept, 1 dropped: 1 too long", self.kept("drop"))
        self.assertIn("65 lines, 65 kept (1 truncated), 0 dropped", self.kept("cut", "--set", "data.too_long=truncate"))
        self.refuse("train.de:65", "80 tokens", "40", more=("--set", "data.too_long=refuse"))

    def test_a_line_of_more_than_1_mib_is_treated_as_the_recipe_says(self):
        self.write("train", PAIRS + [("x" * (1 << 20) + "y", "the dog")])
        self.refuse("train.de:65", "1048576")
        self.assertIn("65 lines, 64 kept, 1 dropped", self.kept("skip", "--set", "data.over_long_line=skip"))

    def test_an_empty_line_or_file_is_treated_as_the_recipe_says(self):
        self.write("train", PAIRS + [("", "the dog")])
        self.assertIn("65 lines, 64 kept, 1 dropped: 1 empty", self.kept("skip"))
        self.refuse("train.de:65", "empty", more=("--set", "data.empty_line=refuse"))
        self.write("train", PAIRS)
        self.write("nothing", [])
        both = ("--set", f"data.train_source={self.path}/train.de,{self.path}/nothing.de", "--set",
                f"data.train_target={self.path}/train.en,{self.path}/nothing.en")
        self.refuse("nothing.de", "no lines", more=both)
        self.assertIn("1 empty file skipped", self.kept("file", *both, "--set", "data.empty_file=skip"))

    def test_the_error_names_a_text_with_nothing_to_learn(self):
        empty, blank = self.file("empty", ""), self.file("blank", "\n" * 9)
        for file, more in ((empty, ()), (blank, ("--set", "data.empty_line=refuse"))):
            self.refuse(f"{file}, {file}: there is no text to learn a vocabulary from",
                        more=("--set", f"data.train_source={file}", "--set", f"data.train_target={file}", *more))

    def test_losses_that_are_not_numbers_stop_the_run(self):
        self.refuse("update ", "train.de:", "failed-batch.txt", "checkpoints/update-",
                    more=("--set", "schedule.peak=1e30", "--set", "schedule.kind=constant", "--set",
                          "schedule.warmup=0"))
        self.assertIn("train.de:", (self.path / "refused" / "failed-batch.txt").read_text())

    def test_it_refuses_a_file_that_is_not_a_tokenizer(self):
        both = lambda file: ("--set", f"tokenizer.source={file}", "--set", f"tokenizer.target={file}")
        self.refuse("train.de", "tokenizer", more=both(self.path / "train.de"))
        self.refuse("none.tok", "which does not exist", more=both(self.path / "none.tok"))
        self.refuse("one tokenizer for both", more=("--set", "tokenizer.source=a", "--set", "tokenizer.target=b"))

    def test_it_refuses_a_folder_that_cannot_be_written(self):
        # Before the text is read.
        self.assert_refused("train", self.recipe, "--out", "/proc/nowhere", mentions=("/proc: cannot write there",))
        self.file("taken", "a file")
        self.assert_refused("train", self.recipe, "--out", self.path / "taken", mentions=("taken",), stdout=None)

    def test_only_one_run_at_a_time_works_in_a_folder(self):
        running = subprocess.Popen([BINARY, "train", str(self.recipe), "--out", str(self.path / "run"), "--set",
                                    "training.updates=100000"], stdout=subprocess.DEVNULL)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        while not (self.path / "run" / "recipe.toml").exists():
            time.sleep(0.02)
        self.assert_refused("train", self.recipe, "--out", self.path / "run", "--resume",
                            mentions=("run", "another process trains in this folder"), stdout=None)
        running.kill()
        running.wait()
        result = self.train("run", "--resume", "--set", "training.updates=1")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_run_that_was_killed_at_its_start_can_start_again(self):
        partial = self.path / "run" / "checkpoints" / "update-00000000.partial"
        partial.mkdir(parents=True)
        (partial / "weights.safetensors").write_bytes(b"half")
        for name in ("metrics.jsonl", "config.json", "shared.tokenizer", "config.json.77.0.partial"):
            (self.path / "run" / name).write_text("half")
        result = self.train("run", "--set", "training.updates=1")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual([path for path in (self.path / "run").rglob("*.partial")], [])

    def test_checkpoints_without_a_recipe_are_not_overwritten(self):
        self.train("run", "--set", "training.updates=5")
        for name in ("recipe.toml", "model.safetensors"):
            (self.path / "run" / name).unlink()
        self.assert_refused("train", self.recipe, "--out", self.path / "run", stdout=None,
                            mentions=("holds a run already (update-00000005)",))

    def test_resuming_removes_what_a_kill_left_behind(self):
        self.train("run", "--set", "training.updates=5")
        left = self.path / "run" / "model.safetensors.77.0.partial"
        left.write_bytes(b"half")
        self.train("run", "--resume")
        self.assertFalse(left.exists())

    def test_an_error_about_a_damaged_checkpoint_says_how_to_go_on(self):
        self.train("run", "--set", "training.updates=10", "--set", "checkpoints.keep=2")
        state = self.path / "run" / "checkpoints" / "update-00000010" / "state.json"
        state.write_text(state.read_text().replace('"update": 10', '"update": -7'))
        self.assert_refused("train", self.recipe, "--out", self.path / "run", "--resume",
                            mentions=(state, "edited", "update-00000010 the run goes on from update 5"), stdout=None)


    def test_values_that_no_run_can_use_are_refused(self):
        blank = self.file("blank", "\n" * 9)
        for setting, words in (("optimizer.weight_decay=inf", "finite"), ("training.minutes=nan", "finite"),
                               ("data.batch_target_tokens=-1", "batch_target_tokens is -1"),
                               ("model.target_vocabulary=-1", "model.target_vocabulary is -1"),
                               ("model.source_vocabulary=-1", "model.source_vocabulary is -1"),
                               ("training.seed=99999999999999999999", "too large"), ("validation.beam=0", "validation.beam is 0"),
                               ("validation.length_penalty=11", "validation.length_penalty is 11"),
                               ("tokenizer.bos=</s>", "special token eos"), ("tokenizer.sep=", "special token sep"),
                               ("data.train_source=t\udcff.de", "not UTF-8")):
            self.assert_refused("train", self.recipe, "--out", self.path / "run", "--set", setting, mentions=(words,))
        self.assert_refused("train", self.recipe, "--out", self.path / "run", "--set", f"data.validation_source={blank}",
                            stdout=None, mentions=("data.validation_source", "no lines with text"))
        self.assert_refused("train", self.recipe, "--out", self.path / "run", "--set", "data.train_source=-", "--set",
                            "data.train_target=-", mentions=("standard input (-) 2 times",))
        self.assertFalse((self.path / "run").exists())


class Display(TranslationTest):
    def on_terminal(self, *more, columns=80):
        terminal = Terminal("train", self.recipe, "--out", self.path / "run", "--set", "training.log_every=1", *more,
                            columns=columns)
        self.addCleanup(terminal.close)
        return terminal

    def test_on_a_terminal_one_line_is_overwritten(self):
        for columns, width in ((80, 80), (50, 50), (300, 300), (0, 80)):
            with self.subTest(columns=columns):
                shutil.rmtree(self.path / "run", ignore_errors=True)
                terminal = self.on_terminal(columns=columns)
                text = terminal.read_all()
                self.assertEqual(terminal.status(), 0, text)
                lines = [line for line in PROGRESS.findall(text) if line.startswith("[")]
                self.assertGreaterEqual(len(lines), 50)
                for line in lines:
                    self.assertRegex(line, r"^\[#*\.*\] \d+:\d\d left  update \d+")
                    self.assertEqual(line.index("]"), 21)
                    self.assertLess(len(line), width)
                self.assertTrue(lines[5].startswith("[##..."), lines[5])
                self.assertTrue(lines[-1].startswith("[####################] 0:00 left"), lines[-1])
                if width == 300:
                    self.assertRegex(lines[-1], r" tokens/s  \d+:\d\d$")
                self.assertRegex(text, r"\r\x1b\[Kvalidation at update 20: [^\r\n]*\r\n")
                self.assertRegex(text, r"\nended by updates; [^\r\n]*\r\n$")

    def test_a_run_that_only_patience_ends_shows_no_time_left(self):
        terminal = self.on_terminal("--set", "training.updates=0", "--set", "validation.patience=1", "--set",
                                    "validation.every=5", "--set", "schedule.kind=constant")
        text = terminal.read_all()
        self.assertEqual(terminal.status(), 0, text)
        self.assertRegex(text, r"\r\x1b\[Kupdate 1  epoch")
        self.assertNotIn(" left", text)

    def test_an_error_begins_on_a_new_line(self):
        terminal = self.on_terminal("--set", "training.updates=1000000", "--set", "validation.every=1000000", "--set",
                                    "checkpoints.every=200")
        terminal.read_until("update 1 ")
        (self.path / "run").rename(self.path / "gone")
        self.file("run", "a file")
        text = terminal.read_all()
        self.assertEqual(terminal.status(), 2, text)
        self.assertRegex(text, r"update \d+ [^\r\n]*\r\nheed: [^\r\n]*\r\n$")

    def test_elsewhere_lines_are_plain(self):
        result = self.train("run")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^update 10  epoch \d+\.\d\d  loss .* tokens/s  0:\d\d$")
        for word in ("\r", "\x1b", "[#", "[.", " left"):
            self.assertNotIn(word, result.stdout)


if __name__ == "__main__":
    unittest.main()
