"""heed tune: several recipes side by side, and the best one of them."""

import json
import random
import signal
import subprocess
import time
import tomllib
import unittest

import heed_cli
import train_cli
from heed_cli import BINARY, heed

RECIPE = "# Mine.\n" + train_cli.SMALL_TRANSLATOR + """[schedule]
# Far too low.
peak = 0.00001
warmup = 5

[training]
updates = 64
log_every = 8

[validation]
every = 16
best_by = "loss"

[checkpoints]
final = "last"
"""


class TuneTest(heed_cli.CliTest):
    def setUp(self):
        super().setUp()
        train_cli.write_pairs(self, train=300, valid=20, shortest=2, translate=reversed)
        self.recipe = self.file("recipe.toml", RECIPE)
        self.tuned = self.path / "tuned"
        self.vary = ("--vary", "schedule.peak=0.003,0.0003", "--vary", "model.branch_dropout=0.0,0.1")

    def tune(self, *more, **options):
        return heed("tune", self.recipe, "--out", self.tuned, *more, **options)

    def state(self):
        return json.loads((self.tuned / "tuning.json").read_text())

    def test_the_best_recipe_is_written_with_what_it_gains_and_costs(self):
        result = self.tune(*self.vary, "--minutes", "10")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        trials = self.state()["trials"]
        self.assertEqual(len([trial for trial in trials if not trial["second_seed"]]), 5)
        best = tomllib.loads((self.tuned / "recipe.toml").read_text())
        self.assertEqual(best["schedule"]["peak"], 0.003)
        self.assertIn("# was 1e-05", (self.tuned / "recipe.toml").read_text())
        self.assertIn("# Mine.", (self.tuned / "recipe.toml").read_text())
        self.assertIn("this is more than noise", result.stdout)
        # Halved at an eighth, a quarter and a half; the recipe itself goes to the end.
        shares = [[leg["share"] for leg in trial["legs"]] for trial in trials if not trial["second_seed"]]
        self.assertEqual(shares[0], [0.125, 0.25, 0.5, 1.0])
        self.assertEqual(sorted(map(len, shares[1:])), [1, 2, 3, 4])
        # What all of it cost, the trials that were stopped and the second seeds too.
        updates = sum(trial["updates"] for trial in trials) + len(self.state()["range_test"])
        self.assertIn(f"and {updates} updates", result.stdout)
        self.assertEqual([trial["updates"] for trial in trials if trial["second_seed"]], [64, 64])
        # The recipe that was written trains, and the best trial is a model.
        self.assertEqual(heed("inspect", self.tuned / "recipe.toml").returncode, 0)
        chosen = max((trial["legs"][-1]["value"], n) for n, trial in enumerate(trials) if trial["legs"][-1]["share"] == 1
                     and not trial["second_seed"])[1]
        self.assertEqual(heed("translate", "--model", self.tuned / "runs" / f"{chosen:02}", text="a b c\n").returncode, 0)
        page = (self.tuned / "tuning.html").read_text()
        self.assertIn("trial 4", page)
        self.assertNotIn("src=", page)

    def test_rules_say_what_is_tried(self):
        result = self.tune("--minutes", "10")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        keys = {key for trial in self.state()["trials"] for key, _ in trial["changes"]}
        self.assertLessEqual({"schedule.peak", "schedule.warmup", "model.branch_dropout"}, keys)
        self.assertNotIn("model.model", keys)  # more updates of a wider model take longer

    def test_a_killed_tuning_goes_on_to_the_same_end(self):
        self.assertEqual(self.tune(*self.vary, "--minutes", "10").returncode, 0)
        whole = self.state()
        self.tuned.rename(self.path / "whole")
        command = [str(part) for part in (BINARY, "tune", self.recipe, "--out", self.tuned, *self.vary, "--minutes", 10)]
        draw, kills = random.Random(3), 0
        while True:
            begun = self.tuned.exists()
            process = subprocess.Popen(command + (["--resume"] if begun else []), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            try:
                error = process.communicate(timeout=draw.uniform(0.3, 1.2) if kills < 5 else 300)[1]
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
                continue
            self.assertEqual((process.returncode, error), (0, ""))
            break
        values = [[[leg["value"] for leg in trial["legs"]] for trial in state["trials"]] for state in (whole, self.state())]
        self.assertEqual(*values)
        # What was done twice because of a kill counts twice.
        self.assertGreaterEqual(sum(trial["updates"] for trial in self.state()["trials"]),
                                sum(trial["updates"] for trial in whole["trials"]))
        self.assertEqual((self.tuned / "runs/00/model.safetensors").read_bytes(),
                         (self.path / "whole/runs/00/model.safetensors").read_bytes())

    def test_a_kill_between_a_pause_and_its_record_changes_nothing(self):
        self.assertEqual(self.tune(*self.vary, "--minutes", "10").returncode, 0)
        whole = self.state()
        cut = json.loads(json.dumps(whole))
        finished = [number for number, trial in enumerate(whole["trials"]) if trial["legs"][-1]["share"] == 1]
        for number in finished:
            cut["trials"][number]["legs"].pop()
        (self.tuned / "tuning.json").write_text(json.dumps(cut))
        self.assertEqual(self.tune(*self.vary, "--minutes", "10", "--resume").returncode, 0)
        for number in finished:
            self.assertEqual(self.state()["trials"][number]["legs"], whole["trials"][number]["legs"])

    def test_the_first_interruption_ends_it_in_good_order(self):
        process = subprocess.Popen([str(part) for part in (BINARY, "tune", self.recipe, "--out", self.tuned, *self.vary,
                                                           "--set", "training.updates=4000", "--minutes", 100)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not (self.tuned / "runs/00/recipe.toml").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, error), (0, ""))
        self.assertIn("--resume", output)
        self.assertFalse((self.tuned / "recipe.toml").exists())

    def test_what_is_stopped_or_killed_before_the_first_trial_can_be_resumed(self):
        # So wide that the range test takes many seconds: the signal comes before its end, whatever else the machine does.
        for how, status in ((signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)):
            tuned = self.path / how.name
            process = subprocess.Popen([str(part) for part in (BINARY, "tune", self.recipe, "--out", tuned, *self.vary,
                                                               "--set", "model.model=512", "--minutes", 100)],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(process.stdout.readline(), "a range test of the learning rate\n")
            process.send_signal(how)
            output, error = process.communicate(timeout=60)
            self.assertEqual((process.returncode, error), (status, ""))
            self.assertNotIn("trial", output)
            self.assert_refused("tune", self.recipe, "--out", tuned, *self.vary, "--minutes", "0.00001", "--resume",
                                mentions=("--minutes is 1e-05",), stdout=None)
            resumed = heed("tune", self.recipe, "--out", tuned, *self.vary, "--minutes", "10", "--resume")
            self.assertEqual((resumed.returncode, resumed.stderr), (0, ""))
            self.assertTrue((tuned / "recipe.toml").exists())
        (self.tuned / "corpus").mkdir(parents=True)
        (self.tuned / "mine").write_text("x")
        self.assert_refused("tune", self.recipe, "--out", self.tuned, "--resume", mentions=("holds no tuning to resume",))

    def test_the_minutes_end_it_with_the_best_so_far(self):
        result = self.tune(*self.vary, "--minutes", "10")
        self.assertEqual(result.returncode, 0)
        state = self.state()
        for trial in state["trials"]:
            trial["legs"] = trial["legs"][:1]
        state["trials"] = [trial for trial in state["trials"] if not trial["second_seed"]]
        (self.tuned / "tuning.json").write_text(json.dumps(state))
        over = self.tune(*self.vary, "--minutes", "0.0001", "--resume")
        self.assertEqual((over.returncode, over.stderr), (0, ""))
        self.assertIn("minutes were over", over.stdout)
        self.assertIn("more --minutes", over.stdout)

    def test_what_cannot_be_tuned_is_refused_before_anything_is_written(self):
        timed = self.file("timed.toml", RECIPE.replace("updates = 64", "minutes = 10.0"))
        endless = self.file("endless.toml", RECIPE.replace("updates = 64", "").replace("every = 16", "every = 16\npatience = 3"))
        blind = self.file("blind.toml", "".join(line + "\n" for line in RECIPE.splitlines() if "validation_" not in line))
        refused = [
            ((self.recipe, "--minutes", "0"), ("--minutes is 0",)),
            ((self.recipe, "--minutes", "0.00001"), ("--minutes is 1e-05", "a run takes about", "training.minutes=")),
            ((timed, "--minutes", "20"), ("a run takes about 10", "33")),
            ((endless,), ("how long a run is must be known",)),
            ((blind,), ("nothing to compare trials by",)),
            ((self.recipe, "--vary", "schedule.peak"), ("expected table.key=value",)),
            ((self.recipe, "--vary", "schedule.peek=1"), ("peek", "did you mean 'peak'")),
            ((self.recipe, "--vary", "model.heads=3,5"), ("model.heads=3", "divide")),
            ((self.recipe, "--vary", "training.seed=1,2"), ("must be the same",)),
            ((self.recipe, "--vary", "preference.beta=0.1,0.2"), ("must be the same",)),
            ((self.recipe, "--vary", "tokenizer.vocabulary=10,20"), ("losses per token of other tokenizers",)),
            ((self.recipe, "--vary", "schedule.peak=1e-5"), ("no values but those of the recipe",)),
            ((self.recipe, "--vary", "schedule.peak=1", "--vary", "schedule.peak=2"), ("given twice",)),
            ((self.recipe, "--resume"), ("holds no tuning to resume",)),
            ((self.path / "nowhere.toml",), ("nowhere.toml",)),
            ((self.file("stages.toml", '[[stages]]\nname = "a"\n'),), ("stages.toml", "has stages")),
        ]
        for arguments, mentions in refused:
            self.assert_refused("tune", *arguments, "--out", self.tuned, mentions=mentions, stdout=None)
            self.assertFalse(self.tuned.exists(), arguments)
        self.tuned.mkdir()
        (self.tuned / "mine").write_text("x")
        self.assert_refused("tune", self.recipe, "--out", self.tuned, mentions=("is not an empty folder",))
        self.assertEqual([path.name for path in self.tuned.iterdir()], ["mine"])

    def test_a_resumed_tuning_is_that_which_was_begun(self):
        self.assertEqual(self.tune(*self.vary, "--minutes", "10").returncode, 0)
        self.assert_refused("tune", self.recipe, "--out", self.tuned, "--resume", mentions=("the same --vary",))
        self.assert_refused("tune", self.recipe, "--out", self.tuned, *self.vary, "--resume", "--set",
                            "schedule.warmup=6", mentions=("schedule.warmup was 5",))
        (self.tuned / "tuning.json").write_text("{")
        self.assert_refused("tune", self.recipe, "--out", self.tuned, *self.vary, "--resume", mentions=("tuning.json",))


if __name__ == "__main__":
    unittest.main()
