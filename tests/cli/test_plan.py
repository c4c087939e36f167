"""heed plan: what a recipe takes, and what a budget is best spent on."""

import json
import pathlib
import re
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
        for budget in ("0", "-3"):
            self.assert_refused("plan", f"--flops={budget}", mentions=(budget, "FLOPs"))
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


class Page(unittest.TestCase):
    """docs/scaling.md shows what the command prints."""

    def test_each_table_is_what_its_command_prints(self):
        page = (SOURCE / "docs" / "scaling.md").read_text()
        shown = re.findall(r"```console\n\$ heed (plan [^\n]*)\n(.*?)```", page, re.DOTALL)
        self.assertGreaterEqual(len(shown), 2)
        for command, output in shown:
            with self.subTest(command):
                self.assertEqual(heed(*command.split()).stdout, output)

    def test_the_figure_is_what_the_command_draws(self):
        drawing = SOURCE / "docs" / "scaling.svg"
        with tempfile.TemporaryDirectory() as folder:
            drawn = pathlib.Path(folder) / "scaling.svg"
            self.assertEqual(heed("plan", "--flops", "1e21", "--svg", drawn).returncode, 0)
            self.assertEqual(drawn.read_text(), drawing.read_text())


if __name__ == "__main__":
    unittest.main()
