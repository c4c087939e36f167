"""heed report of several runs: one page with their curves over each other, and whether they differ by more than chance."""

import random
import re
import unittest

import heed_cli
import model_folder
import train_cli
from heed_cli import heed
from test_report import Page

TEXT = "".join(f"A line of {number} words, and <b>more</b> of them & so on.\n" for number in range(60))


class Comparison(heed_cli.CliTest):
    def trained(self, name, recipe, *changes):
        result = heed("train", self.file(f"{name}.toml", recipe), "--out", self.path / name, "--threads", 1,
                      *(part for change in changes for part in ("--set", change)))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return self.path / name

    def compared(self, *arguments):
        result = heed("report", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return Page((arguments[0] / "comparison.html").read_text())

    def language_model(self, name, *changes):
        return self.trained(name, f"""[model]
architecture = "causal-lm"
model = 16
inner = 32
heads = 2
decoder_layers = 1
max_length = 48
[data]
train = ["{self.file("text.txt", TEXT)}"]
validation_share = 0.4
context = 48
[tokenizer]
kind = "char"
vocabulary = 0
[schedule]
peak = 0.01
warmup = 4
[training]
updates = 24
log_every = 2
[validation]
every = 6
""", *changes)

    def translators(self, *learned):
        train_cli.write_pairs(self, train=300, valid=60, shortest=4, translate=lambda text: [word.upper() for word in text])
        recipe = train_cli.SMALL_TRANSLATOR + """[schedule]
peak = 0.01
warmup = 10
[validation]
every = 20
[training]
updates = 120
"""
        return [self.trained(f"run-{number}", recipe, *changes) for number, changes in enumerate(learned)]

    def test_a_model_that_learned_more_is_better_by_more_than_chance(self):
        runs = self.translators(("training.updates=2",), (), ("training.updates=2", "training.seed=1"))
        page = self.compared(*runs, "--samples", 2)
        self.assertEqual([run["name"] for run in page.data["runs"]], ["run-0", "run-1", "run-2"])
        words = page.text()
        self.assertIn("training.updates", words)
        self.assertNotIn("model.inner", words)  # the same in all
        rows = dict(re.findall(r'<th scope="row"><i[^>]*></i>(run-\d)</th>(<td>.*?)</tr>', page.source.split('id="chance"')[1]))
        self.assertIn("more than chance", rows["run-1"])
        self.assertIn("+0.0000</td><td>1.000</td><td>may be chance", rows["run-2"])
        samples = page.source.split('id="samples"')[1]
        self.assertEqual(samples.count("<article"), 2)
        self.assertEqual(samples.count("</i>run-1</dt>"), 2)
        self.assertEqual(samples.count("Reference"), 2)

    def test_language_models_are_compared_in_windows_of_one_text(self):
        runs = self.language_model("short", "training.updates=2"), self.language_model("long")
        page = self.compared(*runs)
        rows = page.source.split('id="chance"')[1]
        self.assertIn("nats per token", rows)
        self.assertIn("more than chance", rows)
        self.assertIn("Written at the best validation", page.text())
        other = self.language_model("bytes", "tokenizer.kind=byte")
        page = self.compared(runs[0], other)
        (self.path / "text.txt").unlink()
        self.assertIn("No texts with which the models could be paired", self.compared(*runs).text())
        self.assertIn("bytes has other tokens than short", page.text())
        self.assertIn("No texts with which the models could be paired", page.text())

    def test_classifiers_are_compared_by_their_labels(self):
        draw = random.Random(4)
        examples = "".join(f"{draw.choice('abc')} {kind}{draw.choice('xyz')}\t{kind}\n" for kind in "pq" * 40)
        recipe = f"""[model]
architecture = "encoder"
model = 16
inner = 32
heads = 2
encoder_layers = 1
max_length = 16
[data]
train = ["{self.file("train.tsv", examples)}"]
validation = ["{self.file("valid.tsv", examples)}"]
[tokenizer]
kind = "char"
vocabulary = 0
[schedule]
peak = 0.01
warmup = 4
[training]
task = "classify"
updates = 60
"""
        runs = self.trained("few", recipe, "training.updates=1"), self.trained("many", recipe)
        self.assert_refused("report", *runs, "--source", self.path / "valid.tsv", mentions=("leave out --source",))
        page = self.compared(*runs)
        self.assertIn("share of labels that are right", page.source)
        self.assertIn("more than chance", page.source.split('id="chance"')[1])
        (self.path / "valid.tsv").unlink()
        self.assertIn("No texts with which the models could be paired", self.compared(*runs).text())

    def test_what_is_missing_is_said(self):
        first, second = self.path / "a<b>&c", self.path / "second"
        for folder in (first, second):
            model_folder.make_model(folder)
        page = self.compared(first, second)
        words = page.text()
        for missing in ("has no recipe.toml", "has no metrics.jsonl", "name a file of them with --source"):
            self.assertIn(missing, words)
        self.assertNotIn("<b>", page.source)
        source = self.file("s.txt", "eine katze\n")
        self.assertIn("eine katze", self.compared(first, second, "--source", source).text())

    def test_runs_of_other_text_do_not_compare_and_the_page_says_so(self):
        runs = self.translators(("training.updates=2",), ("training.updates=2", f"data.validation_source={self.path}/train.a",
                                                          f"data.validation_target={self.path}/train.b"))
        self.assertIn("run-1 was validated on other text than run-0", self.compared(*runs).text())

    def test_what_cannot_be_compared_is_refused(self):
        first, second = self.path / "a", self.path / "b"
        model_folder.make_model(first)
        lm = self.language_model("lm", "training.updates=2")
        out = self.path / "out.html"
        self.assert_refused("report", first, lm, "--out", out, mentions=("only models of one kind compare",))
        self.assert_refused("report", first, f"{first}/", "--out", out, mentions=("given twice",))
        self.assert_refused("report", lm, first, f"{first}/", "--out", out, mentions=("given twice",))
        other = self.language_model("other", "training.updates=2")
        self.assert_refused("report", lm, other, "--beam", 2, "--out", out, mentions=("a beam is for translations",))
        self.assert_refused("report", first, second, "--out", out, mentions=("b",))
        self.assert_refused("report", lm, lm, "--sentences", -1, "--out", out, mentions=("-1 sentences",))
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
