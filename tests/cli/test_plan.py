"""heed plan: what a recipe takes, and what a budget is best spent on."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import heed_cli
from heed_cli import RECIPE, SOURCE, heed

GOPHER = "5.76e23"
SVG = "{http://www.w3.org/2000/svg}"


class Budget(heed_cli.CliTest):
    def optima(self, flops):
        result = heed("plan", "--flops", flops, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_every_law_spends_the_whole_budget(self):
        answer = self.optima(GOPHER)
        self.assertEqual(answer["budget_flops"], float(GOPHER))
        self.assertEqual(len({optimum["law"] for optimum in answer["optima"]}), 5)
        for optimum in answer["optima"]:
            spent = 6 * optimum["parameters"] * optimum["tokens"]
            self.assertAlmostEqual(spent / float(GOPHER), 1, 6, optimum["law"])

    def test_the_budget_of_the_papers_own_model_gives_about_its_sizes(self):
        by_law = {optimum["law"]: optimum for optimum in self.optima(GOPHER)["optima"]}
        self.assertAlmostEqual(by_law["minima over training curves"]["parameters"] / 67e9, 1, 1)
        self.assertAlmostEqual(by_law["20 tokens per parameter"]["parameters"] / 69.3e9, 1, 2)
        self.assertLess(by_law["fitted loss, as published"]["parameters"], 40e9)

    def test_a_budget_far_from_the_fitted_runs_is_called_extrapolated(self):
        self.assertIn("extrapolated", heed("plan", "--flops", "1e15").stdout)
        self.assertNotIn("extrapolated", heed("plan", "--flops", "1e20").stdout)

    def test_each_panel_of_the_drawing_has_a_line_and_a_point_for_each_law(self):
        drawing = self.path / "laws.svg"
        self.assertEqual(heed("plan", "--flops", "1e21", "--svg", drawing).returncode, 0)
        root = xml.etree.ElementTree.parse(drawing).getroot()
        width, height = (float(root.get(extent)) for extent in ("width", "height"))
        lines = [path.get("d") for path in root.iter(SVG + "path") if path.get("class") == "law"]
        self.assertEqual(len(lines), 15)
        for line in lines:
            xs_and_ys = [float(number) for number in re.findall(r"[-\d.]+", line)]
            self.assertEqual(len(xs_and_ys), 4)
            self.assertTrue(all(0 < x < width for x in xs_and_ys[0::2]), line)
            self.assertTrue(all(0 < y < height for y in xs_and_ys[1::2]), line)
        self.assertEqual(len(list(root.iter(SVG + "circle"))), 20)  # the legend's too

    def test_wrong_budgets_are_refused_in_one_line(self):
        self.assert_refused("plan", mentions=("a recipe", "--flops"))
        for budget in ("0", "-3", "1e61"):
            self.assert_refused("plan", f"--flops={budget}", mentions=(f"{float(budget):g}", "FLOPs"))
        self.assert_refused("plan", "--flops", "1e308", "--svg", self.path / "x.svg", mentions=("expected 1 to 1e+60",))
        for budget, words in (("x", "not a number"), ("nan", "not a number"), ("1e400", "too large")):
            self.assert_refused("plan", f"--flops={budget}", mentions=("--flops", budget, words))
        self.assert_refused("plan", RECIPE, "--hours", "1e300", mentions=("--hours", "at most"))

    def test_options_of_a_recipe_are_refused_without_one(self):
        for options in (("--set", "model.model=8"), ("--length", "8"), ("--no-run",), ("--threads", "1")):
            self.assert_refused("plan", "--flops", "1e18", *options, mentions=(f"plan: {options[0]} needs RECIPE",))

    def test_one_flop_is_singular(self):
        self.assertIn("1 FLOP is best spent on", heed("plan", "--flops", "1").stdout)
        self.assert_refused("plan", "--flops", "1e18", "--hours", "2", mentions=("--flops", "--hours"))
        self.assert_refused("plan", "--hours", "2", mentions=("--hours", "recipe"))
        self.assert_refused("plan", RECIPE, "--hours", "0", mentions=("--hours",))
        self.assert_refused("plan", RECIPE, "--hours", "1", "--no-run", mentions=("--hours", "--no-run"))
        self.assert_refused("plan", RECIPE, "--svg", self.path / "x.svg", mentions=("--svg", "--flops"))
        self.assertFalse((self.path / "x.svg").exists())

    def test_a_drawing_that_cannot_be_written_is_an_error_and_nothing_is_printed(self):
        self.assert_refused("plan", "--flops", "1e18", "--svg", self.path / "absent" / "x.svg", mentions=("absent",))


class OfARecipe(heed_cli.CliTest):
    def plan(self, *arguments):
        result = heed("plan", *arguments, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_the_parameters_are_those_that_inspect_counts(self):
        plan = self.plan(RECIPE, "--no-run")
        self.assertEqual(plan["parameters"], 14866532)
        self.assertEqual(sum(part["parameters"] for part in plan["parts"].values()), 14866532)
        self.assertNotIn("timing", plan)

    def test_a_vocabulary_of_words_is_counted_in_the_recipes_text(self):
        source = self.file("text.de", "eins zwei drei\neins zwei drei\n")
        target = self.file("text.en", "one two three four\none two three four\n")
        recipe = self.file("words.toml", f"""
[model]
model = 8
inner = 8
heads = 2
tie = "output"
[data]
train_source = ["{source}"]
train_target = ["{target}"]
[tokenizer]
kind = "word"
vocabulary = 0
shared = false
""")
        plan = self.plan(recipe, "--no-run")
        special = 5  # pad, unk, bos, eos, sep
        self.assertEqual(plan["parts"]["embeddings"]["parameters"], 8 * (3 + special + 4 + special))
        source.unlink()
        self.assert_refused("plan", recipe, "--no-run", mentions=("text.de",))

    def test_a_language_model_is_planned_with_its_context_and_the_characters_of_its_text(self):
        text = self.file("text.txt", "abcabcabd\n" * 9)
        recipe = self.file("letters.toml", f"""
[model]
architecture = "causal-lm"
model = 8
inner = 8
heads = 2
decoder_layers = 1
max_length = 16
tie = "output"
[data]
train = ["{text}"]
context = 16
batch_sequences = 5
[tokenizer]
kind = "char"
vocabulary = 0
[training]
updates = 10
""")
        special = 5  # pad, unk, bos, eos, sep
        plan = self.plan(recipe, "--no-run")
        self.assertEqual(plan["parts"]["embeddings"]["parameters"], 8 * (5 + special))  # a, b, c, d, end of line
        self.assertEqual(plan["tokens_per_update"], 5 * 16)
        self.assertEqual(self.plan(recipe, "--no-run", "--length", "4")["tokens_per_update"], 5 * 16)
        self.assertLess(self.plan(recipe, "--no-run", "--length", "4")["training_flops_per_token"],
                        plan["training_flops_per_token"])  # less of it is attention
        self.assertGreater(self.plan(recipe)["timing"]["tokens_per_second"], 0)
        self.assert_refused("plan", recipe, "--no-run", "--length", 17, mentions=("17", "16"))

    def test_flops_of_the_parts_add_up_and_come_near_six_for_each_parameter(self):
        plan = self.plan(RECIPE, "--no-run")
        total = sum(part["training_flops"] for part in plan["parts"].values())
        self.assertAlmostEqual(total / plan["training_flops_per_token"], 1, 6)
        self.assertAlmostEqual(plan["training_flops_per_token"] / (6 * plan["parameters"]), 1, 1)

    def test_recomputing_layers_is_planned_with_less_memory_and_more_operations(self):
        kept = self.plan(RECIPE, "--no-run", "--set", "model.recompute_layers=false")
        recomputed = self.plan(RECIPE, "--no-run", "--set", "model.recompute_layers=true")
        self.assertLess(recomputed["memory"]["activations"], kept["memory"]["activations"])
        self.assertEqual(recomputed["memory"]["activations"], kept["memory"]["activations_recomputed"])
        self.assertGreater(recomputed["training_flops_per_token"], 1.2 * kept["training_flops_per_token"])

    def test_a_short_run_gives_a_budget_for_hours(self):
        small = ("--set", "model.model=64", "--set", "model.inner=64", "--set", "data.batch_target_tokens=256")
        plan = self.plan(RECIPE, *small, "--hours", "2", "--threads", "1")
        self.assertEqual(plan["timing"]["threads"], 1)
        self.assertAlmostEqual(plan["budget_flops"] / (7200 * plan["timing"]["flops_per_second"]), 1, 4)
        rate = plan["flops_per_update"] / plan["timing"]["update_seconds"]
        self.assertAlmostEqual(rate / plan["timing"]["flops_per_second"], 1, 4)

    def test_the_table_shows_every_part_and_the_recipes_updates_in_total(self):
        text = heed("plan", SOURCE / "recipes" / "multi30k-de-en.toml", "--no-run").stdout
        for part in ("embeddings", "attention", "feed-forward", "norms", "output", "keys and values", "10800 updates"):
            self.assertIn(part, text)

    def test_wrong_recipes_and_lengths_are_refused_in_one_line(self):
        self.assert_refused("plan", self.path / "absent.toml", mentions=("absent.toml",))
        self.assert_refused("plan", self.recipe_with(heads=7), "--no-run", mentions=("heads 7",))
        self.assert_refused("plan", RECIPE, "--no-run", "--set", "model.widht=3", mentions=("widht",))
        for length in (-1, 100000):
            self.assert_refused("plan", RECIPE, "--no-run", f"--length={length}", mentions=(length, "tokens"))
        self.assert_refused("plan", RECIPE, "--threads=-1", mentions=("threads",))

    def test_the_error_names_the_key_of_an_unknown_vocabulary_size(self):
        open_sizes = ("--no-run", "--set", "model.source_vocabulary=0", "--set", "model.target_vocabulary=0")
        self.assert_refused("plan", RECIPE, *open_sizes, "--set", "tokenizer.kind=bpe", "--set",
                            "tokenizer.vocabulary=0", mentions=("tokenizer.vocabulary is 0",))
        letters = (*open_sizes, "--set", "tokenizer.kind=char", "--set", "tokenizer.vocabulary=0")
        for side, other in (("source", "target"), ("target", "source")):
            self.assert_refused("plan", RECIPE, *letters, "--set", f"data.train_{side}=", "--set", f"data.train_{other}=x",
                                mentions=(f"data.train_{side} names no file",))
        recipe = self.file("lm.toml", '[model]\narchitecture = "causal-lm"\n[tokenizer]\nkind = "char"\nvocabulary = 0\n')
        for share in ("0", "0.1"):
            self.assert_refused("plan", recipe, "--no-run", "--set", f"data.validation_share={share}",
                                mentions=("data.train names no file",))

    def test_a_model_that_this_machine_cannot_hold_is_planned_but_not_run(self):
        huge = self.recipe_with(model=32768, inner=131072, encoder_layers=24, decoder_layers=24)
        self.assertGreater(self.plan(huge, "--no-run")["parameters"], 1e12 / 2)
        self.assert_refused("plan", huge, mentions=("memory", "--no-run"))


class OfRanks(heed_cli.CliTest):
    """Layouts of processes that train together."""

    SPEED = ("--flops-per-second", "100G")
    EIGHT = ("--set", "training.accumulate=8", "--set", "model.encoder_layers=4", "--set", "model.decoder_layers=4")

    def ranks(self, *arguments):
        result = heed("plan", RECIPE, *self.EIGHT, *self.SPEED, *arguments, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)["ranks"]

    def test_every_layout_of_the_ranks_is_listed_or_said_to_be_impossible(self):
        ranks = self.ranks("--ranks", "16")
        shape = lambda one: (one["data"], one["pipeline"], one["tensor"])
        all_shapes = [shape(one) for one in ranks["layouts"] + ranks["impossible"]]
        self.assertEqual(len(set(all_shapes)), len(all_shapes))
        self.assertEqual(len(all_shapes), 15)
        self.assertTrue(all(d * p * t == 16 for d, p, t in all_shapes))
        self.assertEqual(shape(ranks["chosen"]), shape(ranks["layouts"][0]))
        self.assertTrue(all(one["reasons"] for one in ranks["impossible"]))
        totals = [one["seconds"]["total"] for one in ranks["layouts"]]
        self.assertEqual(totals, sorted(totals))
        self.assertEqual(len(self.ranks("--ranks", "16", "--top", "3")["layouts"]), 3)

    def test_seconds_and_bytes_add_up(self):
        for one in self.ranks("--ranks", "8", "--bandwidth", "100Mbit", "--latency", "1ms", "--message-rate", "2GB")["layouts"]:
            seconds, memory = one["seconds"], one["memory"]
            sent = sum(seconds[key] for key in ("gradients", "weights", "outer_steps", "stages", "tensor", "messages"))
            self.assertAlmostEqual(sent / seconds["communication"], 1, delta=1e-5)  # six digits of each are printed
            self.assertAlmostEqual(seconds["messages"], 2 * one["sent_bytes"] / 2e9, 5)
            whole = seconds["compute"] + seconds["optimizer"] + seconds["idle"] + sent
            self.assertAlmostEqual(whole / seconds["total"], 1, 4)
            self.assertEqual(sum(memory.values()), 2 * memory["total"])

    def test_a_speed_replaces_the_short_run(self):
        huge = self.recipe_with(model=8192, inner=32768, encoder_layers=24, decoder_layers=24)
        result = heed("plan", huge, "--set", "training.accumulate=4", "--ranks", "4", *self.SPEED, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertNotIn("timing", json.loads(result.stdout))
        self.assertEqual(json.loads(result.stdout)["ranks"]["flops_per_second"], 1e11)

    def test_this_machines_speed_is_measured(self):
        small = ("--set", "model.model=64", "--set", "model.inner=64", "--set", "data.batch_target_tokens=256")
        result = heed("plan", RECIPE, *small, "--set", "training.accumulate=2", "--threads", "1", "--layout", "data=2",
                      "--json")
        plan = json.loads(result.stdout)
        seconds, timing = plan["ranks"]["layouts"][0]["seconds"], plan["timing"]
        halves = (timing["update_seconds"] - timing["optimizer_seconds"]) / 2
        self.assertAlmostEqual(seconds["compute"] / halves, 1, 3)
        self.assertAlmostEqual(seconds["optimizer"] / (timing["optimizer_seconds"] / 2), 1, 3)

    def test_links_and_formats_change_what_is_sent_and_how_long_it_takes(self):
        time = lambda *options: self.ranks("--layout", "data=8", *options)["layouts"][0]
        plain = time()
        self.assertEqual(time("--bandwidth", "1Gbit", "--latency", "50us"), plain)
        self.assertEqual(time("--bandwidth", "125MB"), plain)
        self.assertLess(time("--gradients", "bf16")["sent_bytes"], plain["sent_bytes"])
        self.assertGreater(time("--latency", "100ms")["seconds"]["total"], plain["seconds"]["total"])
        self.assertGreater(time("--bandwidth", "10Mbit")["seconds"]["total"], plain["seconds"]["total"])
        local = time("--local-updates", "50")
        self.assertLess(local["sent_bytes"], plain["sent_bytes"] / 30)
        self.assertGreater(local["memory"]["optimizer"], plain["memory"]["optimizer"])
        self.assertLess(time("--memory-bandwidth", "200GB")["seconds"]["optimizer"], plain["seconds"]["optimizer"])

    def test_the_table_says_what_does_not_fit_what_is_impossible_and_what_is_best(self):
        command = ("plan", RECIPE, *self.EIGHT, *self.SPEED, "--bandwidth", "100Gbit", "--latency", "1us", "--ranks")
        text = heed(*command, "16", "--memory", "0.4GB").stdout
        self.assertIn("16 ranks of 100 GFLOP/s, joined by 100 Gbit/s and 1 us; 8 shards an update", text)
        self.assertIn("does not fit", text)
        self.assertIn("impossible: ", text)
        self.assertIn("data 16 is more than the update's 8 shards", text)
        self.assertIn("pipeline 16 is more than the model's 8 layers", text)
        self.assertRegex(text, r"best: --layout data=\d+,pipeline=\d+,tensor=\d+")
        self.assertIn("no layout fits into 0.001 GB a rank", heed(*command, "16", "--memory", "1MB").stdout)
        self.assertIn("no layout of 11 ranks is possible", heed(*command, "11").stdout)
        self.assertRegex(heed(*command, "16", "--top", "2").stdout, r"and \d+ more")

    def test_an_update_that_no_run_could_take_is_refused(self):
        plan = ("plan", RECIPE, "--no-run", "--set")
        self.assert_refused(*plan, "training.accumulate=0", "--set", "training.shards=2", mentions=("training.accumulate is 0",))
        self.assert_refused(*plan, "training.accumulate=-1", mentions=("training.accumulate is -1",))
        self.assert_refused(*plan, "training.shards=-4", mentions=("training.shards is -4",))
        self.assert_refused(*plan, "training.updates=-3", mentions=("training.updates is -3",))
        self.assert_refused(*plan, "data.batch_target_tokens=-5", mentions=("tokens, expected at most 1e+10",))
        self.assert_refused("plan", SOURCE / "recipes" / "tutorial-lm.toml", "--no-run", "--set", "data.batch_sequences=-5",
                            mentions=("a batch of -5 sequences",))
        self.assert_refused(*plan, f"training.accumulate={10 ** 18}", mentions=("tokens, expected at most 1e+10",))

    def test_quantities_beyond_any_machine_are_refused(self):
        plan = ("plan", RECIPE, *self.SPEED, "--ranks", "2")
        for option, value, words in (("--bandwidth", "1e-300bit", "small"), ("--bandwidth", "1e300Gbit", "large"),
                                     ("--bandwidth", "-1Gbit", "small"), ("--latency", "1e300s", "large")):
            self.assert_refused(*plan, f"{option}={value}", mentions=(f"{option}: '{value}' is too {words}",))

    def test_parts_that_training_cannot_make_are_impossible(self):
        plan = ("plan", RECIPE, *self.SPEED, "--layout", "tensor=2", "--set")
        self.assert_refused(*plan, "model.qk_norm=all", mentions=("tensor 2 does not go with qk_norm = \"all\"",))
        self.assert_refused(*plan, "model.inner=2056", mentions=("leaves each rank 1028 inner columns", "a multiple of 16"))

    def test_a_reason_with_quotation_marks_is_json_too(self):
        impossible = self.ranks("--ranks", "2", "--set", "optimizer.kind=muon")["impossible"]
        self.assertEqual([one["reasons"] for one in impossible],
                         [['tensor 2 does not go with optimizer.kind = "muon": it needs whole matrices']])

    def test_one_layout_is_shown_in_full(self):
        text = heed("plan", RECIPE, *self.EIGHT, *self.SPEED, "--layout", "data=2,pipeline=2", "--memory", "1MB").stdout
        for part in ("data=2,pipeline=2,tensor=1", "forward and backward", "optimizer", "idle", "gradients",
                     "between stages", "total", "communication that no work hides", "sent by a rank", "does not fit"):
            self.assertIn(part, text)

    def test_what_makes_no_sense_is_refused_in_one_line(self):
        plan = ("plan", RECIPE, *self.SPEED)
        for ranks in ("0", "-1", "x", "100000"):
            self.assert_refused(*plan, f"--ranks={ranks}", mentions=(ranks, "ranks"))
        for option, value in (("--bandwidth", "1Gbyte"), ("--bandwidth", "fast"), ("--bandwidth", "0Gbit"),
                              ("--latency", "50"), ("--latency", "-1us"), ("--memory", "16"), ("--memory", "0GB")):
            self.assert_refused(*plan, "--ranks", "2", f"{option}={value}", mentions=(option, value))
        self.assert_refused("plan", RECIPE, "--ranks", "2", "--flops-per-second", "0", mentions=("--flops-per-second",))
        self.assert_refused(*plan, "--layout", "data=3", mentions=("data 3", "1 shard"))
        self.assert_refused(*plan, "--layout", "data=0", mentions=("--layout", "data=0"))
        self.assert_refused(*plan, "--layout", "date=2", mentions=("--layout", "date"))
        self.assert_refused(*plan, "--layout", "data=1,pipeline=2", "--ranks", "4", mentions=("--layout", "2 ranks", "4"))
        self.assert_refused(*plan, "--layout", "tensor=3", mentions=("tensor 3 does not divide 8 heads",))
        self.assert_refused(*plan, "--ranks", "2", "--local-updates", "0", mentions=("0 local updates",))
        self.assert_refused(*plan, "--ranks", "2", "--top=-1", mentions=("--top",))
        self.assert_refused(*plan, "--ranks", "2", "--hours", "1", mentions=("--hours", "--flops-per-second"))
        self.assert_refused(*plan, mentions=("--flops-per-second needs --ranks or --layout",))
        self.assert_refused("plan", RECIPE, "--memory", "1GB", mentions=("--memory needs --ranks or --layout",))
        self.assert_refused("plan", RECIPE, "--ranks", "2", "--memory-bandwidth", "1GB",
                            mentions=("--memory-bandwidth needs --flops-per-second",))
        self.assert_refused("plan", RECIPE, "--ranks", "2", "--no-run", mentions=("--no-run", "--flops-per-second"))
        self.assert_refused("plan", "--flops", "1e18", "--ranks", "2", mentions=("--ranks needs RECIPE",))


class Page(unittest.TestCase):
    """docs/scaling.md and the pages of measurements show what the commands print."""

    def test_each_table_is_what_its_command_prints(self):
        pages = ("scaling.md", "measurements/scaling.md", "measurements/scaling-laws.md")
        page = "".join((SOURCE / "docs" / name).read_text() for name in pages)
        shown = re.findall(r"```console\n\$ heed (plan [^\n]*)\n(.*?)```", page, re.DOTALL)
        self.assertGreaterEqual(len(shown), 4)
        for command, output in shown:
            with self.subTest(command):
                self.assertEqual(heed(*command.split(), cwd=SOURCE).stdout, output)

    def test_the_table_of_machines_and_its_command_are_what_the_script_prints(self):
        """The rows of one model: all three are 250 plans."""
        page = (SOURCE / "docs" / "measurements" / "scaling.md").read_text()
        command = [sys.executable, SOURCE / "bench" / "scaling_table", "--show-commands", "--parameters", "1"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
        table, commands = printed.split("\n\n")
        head, ruler, *rows = table.splitlines()
        self.assertEqual(len(rows), 3)
        self.assertIn(f"\n\n{head}\n{ruler}\n", page)
        self.assertIn("\n".join(["", *rows, ""]), page)
        quoted = [" ".join(text.replace("\\\n", " ").split()) for text in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
        self.assertTrue(set(quoted) & set(commands.splitlines()), quoted)

    def test_the_figure_is_what_the_command_draws(self):
        drawing = SOURCE / "docs" / "pictures" / "scaling.svg"
        with tempfile.TemporaryDirectory() as folder:
            drawn = pathlib.Path(folder) / "scaling.svg"
            self.assertEqual(heed("plan", "--flops", "1e21", "--svg", drawn).returncode, 0)
            self.assertEqual(drawn.read_text(), drawing.read_text())


if __name__ == "__main__":
    unittest.main()
