"""heed recipe, and heed train without one: from text alone to a model."""

import random
import tomllib
import unittest

import heed_cli
from heed_cli import heed

NOUNS = {"der Hund": "the dog", "die Katze": "the cat", "das Kind": "the child", "der Mann": "the man"}
VERBS = {"sieht": "sees", "kennt": "knows", "sucht": "seeks", "malt": "paints", "ruft": "calls"}
TIMES = {"heute": "today", "morgen": "tomorrow", "immer": "always", "nie": "never"}
KEPT = 30  # of 600 lines


class RecipeTest(heed_cli.CliTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        pairs = []
        for _ in range(600):
            a, b, v, t = (draw.choice(list(words.items())) for words in (NOUNS, NOUNS, VERBS, TIMES))
            pairs.append((f"{a[0]} {v[0]} {t[0]} {b[0]} .", f"{a[1]} {t[1]} {v[1]} {b[1]} ."))
        self.source = self.file("train.de", "".join(source + "\n" for source, _ in pairs))
        self.target = self.file("train.en", "".join(target + "\n" for _, target in pairs))
        self.text = ["--source", self.source, "--target", self.target]
        self.recipe = self.path / "recipe.toml"

    def lines(self, name):
        return (self.path / name).read_text().splitlines()

    def test_of_a_translation_it_keeps_text_and_gives_reasons(self):
        result = heed("recipe", *self.text, "--minutes", "0.2", "--out", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(f"heed train {self.recipe} --out model", result.stdout)
        content = self.recipe.read_text()
        self.assertIn("# 570 pairs: ", content)
        self.assertRegex(content, r"# \d+ parameters for \d+ tokens of text")
        settings = tomllib.loads(content)
        self.assertEqual(settings["model"]["architecture"], "seq2seq")
        self.assertEqual(settings["training"]["minutes"], 0.2)
        for side, all_lines in (("source", self.lines("train.de")), ("target", self.lines("train.en"))):
            kept, train = self.lines(f"recipe.validation.{side}"), self.lines(f"recipe.train.{side}")
            self.assertEqual(len(kept), KEPT)
            self.assertEqual(sorted(kept + train), sorted(all_lines))

    def test_with_enough_pairs_and_time_both_directions_are_trained_first(self):
        source, target = (self.file(f"many.{side}", "".join(f"{line}\n" for line in self.lines(f"train.{side}") * 9))
                          for side in ("de", "en"))
        validation = [self.file(f"few.{side}", "".join(f"{line}\n" for line in self.lines(f"train.{side}")[:30]))
                      for side in ("de", "en")]
        two = ["--source", source, source, "--target", target, target, "--validation", *validation]
        result = heed("recipe", *two, "--minutes", "500", "--out", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        stages = {stage["name"]: stage for stage in tomllib.loads(self.recipe.read_text())["stages"]}
        self.assertEqual(list(stages), ["both-ways", "to-target-1", "to-target-2", "to-source-1", "to-source-2", "one-way"])
        self.assertEqual(stages["both-ways"]["data"]["train_source"], [str(file) for file in (source, source, target, target)])
        self.assertEqual(stages["one-way"]["data"]["train_source"],
                         [str(source)] * 4 + ["stage:to-source-1/target", "stage:to-source-2/target"])
        self.assertEqual(stages["one-way"]["data"]["train_target"],
                         [str(target)] * 2 + ["stage:to-target-1/target", "stage:to-target-2/target"] + [str(target)] * 2)
        self.assertEqual(stages["one-way"]["ends_by"], 500)
        self.assertLess(stages["both-ways"]["ends_by"], 400)
        plan = heed("plan", self.recipe)
        self.assertEqual((plan.returncode, plan.stderr), (0, ""))
        # Too little time for that, and one language on both sides.
        for text, minutes in ((two, "0.3"), (["--source", source, "--target", source], "500")):
            result = heed("recipe", *text, "--minutes", minutes, "--out", self.recipe)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertNotIn("stages", tomllib.loads(self.recipe.read_text()))

    def test_validation_text_is_taken_where_it_is_given(self):
        result = heed("recipe", *self.text, "--validation", self.source, self.target, "--minutes", "1234.5", "--out", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(tomllib.loads(self.recipe.read_text())["training"]["minutes"], 1234.5)
        self.assertIn("600 of the 600 validation sentences are in the training text", self.recipe.read_text())
        self.assertEqual(tomllib.loads(self.recipe.read_text())["data"]["train_source"], [str(self.source)])
        self.assertEqual(len(list(self.path.glob("recipe.*"))), 1)

    def test_a_language_model_has_one(self):
        text = self.file("text", "".join(source + "\n" for source in self.lines("train.de") * 4))
        result = heed("recipe", "--task", "language-model", "--text", text, "--minutes", "0.2", "--out", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(tomllib.loads(self.recipe.read_text())["model"]["architecture"], "causal-lm")
        self.assertEqual(heed("inspect", self.recipe).returncode, 0)

    def test_text_alone_is_enough_to_train(self):
        model = self.path / "model"
        result = heed("train", *self.text, "--minutes", "0.1", "--out", model)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(f"the recipe and its reasons are in {model}.toml", result.stdout)
        self.assertRegex(result.stdout, r"ended by (minutes|updates)")
        translated = heed("translate", "--model", model, text="der Hund sieht heute das Kind .\n")
        self.assertEqual((translated.returncode, translated.stdout.count("\n")), (0, 1))
        # The recipe that was made is neither overwritten nor made again.
        self.assert_refused("train", *self.text, "--out", model, mentions=["model.toml is there already", "--resume"])
        resumed = heed("train", *self.text, "--out", model, "--resume", "--set", "training.minutes=0.15")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)

    def test_text_is_never_overwritten_and_nothing_is_left_of_a_refused_recipe(self):
        kept = self.source.rename(self.path / "r.train.source")
        text = ["--source", kept, "--target", self.target]
        (self.path / "folder").mkdir()
        before = {one.name: one.read_bytes() for one in self.path.iterdir() if one.is_file()}
        for out, mentions in [(kept, ["is read too"]), (self.path / "r.toml", ["r.train.source", "is read too"]),
                              (self.path / "folder", ["is a folder"])]:
            self.assert_refused("recipe", *text, "--minutes", "0.2", "--out", out, mentions=mentions)
        self.assert_refused("train", *text, "--minutes", "0.2", "--out", self.target, mentions=["is a file"])
        self.assertEqual({one.name: one.read_bytes() for one in self.path.iterdir() if one.is_file()}, before)

    def test_names_of_files_may_have_any_characters(self):
        source = self.source.rename(self.path / 'a "b"\n\x7f\\c')
        result = heed("recipe", "--source", source, "--target", self.target, "--validation", source, self.target,
                      "--minutes", "0.2", "--out", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(tomllib.loads(self.recipe.read_text())["data"]["train_source"], [str(source)])

    def test_labels_may_have_any_characters(self):
        text = self.file("labels", "".join(f"{line}\t{'#' if number % 2 else chr(1) + chr(127)}\n"
                                           for number, line in enumerate(self.lines("train.de"))))
        result = heed("recipe", "--task", "classify", "--text", text, "--minutes", "0.2", "--out", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("2 different labels", self.recipe.read_text())

    def test_lines_may_be_longer_than_sentences_are(self):
        long = self.file("long", "".join(" ".join(line for line in self.lines("train.de")[i:i + 60]) + "\n"
                                         for i in range(500)))
        result = heed("recipe", "--source", long, "--target", long, "--minutes", "0.2", "--out", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_what_cannot_be_learned_from_is_refused(self):
        few = self.file("few", "ein Satz\n" * 20)
        short = self.file("short", "ein Satz\n" * 599)
        refused = [
            (["--source", self.source, "--target", short], ["600 lines", "599"]),
            (["--source", few, "--target", few], ["20 pairs are too few", "--validation"]),
            (["--source", self.source], ["--source and --target"]),
            ([*self.text, "--minutes", "0.01"], ["--minutes is 0.01", "0.1"]),
            ([*self.text, "--validation", self.source], ["--validation has 1 files"]),
            (["--task", "language-model", "--text", few], ["too few to learn from"]),
            (["--source", self.path / "nowhere", "--target", self.target], ["nowhere"]),
        ]
        empty, blank = self.file("empty", ""), self.file("blank", "\n" * 600)
        refused += [
            ([*self.text, "--validation", empty, empty], ["the validation text: has no lines"]),
            (["--source", blank, "--target", self.target], ["each of its 570 pairs is blank on one side"]),
            (["--source", "-", "--target", self.target], ["expected files, not the standard input"]),
            (["--task", "language-model", "--text", self.source, "--validation", empty],
             ["the validation text: is empty"]),
        ]
        for arguments, mentions in refused:
            self.assert_refused("recipe", *arguments, "--out", self.recipe, mentions=mentions)
        self.assertEqual(list(self.path.glob("recipe*")), [])
        self.assert_refused("train", self.file("some.toml", ""), *self.text, "--out", self.path / "m",
                            mentions=["leave out either RECIPE or --source"])
        self.assert_refused("train", self.file("some.toml", ""), "--minutes", 5, "--out", self.path / "m",
                            mentions=["leave out either RECIPE or --minutes"])
        self.assert_refused("train", *self.text, "--out", self.path / "m", "--resume",
                            mentions=["holds no run to resume", "m.toml"])
        self.assert_refused("train", "--out", self.path / "m", mentions=["--source and --target"])


if __name__ == "__main__":
    unittest.main()
