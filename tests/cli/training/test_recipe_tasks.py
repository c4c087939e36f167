"""heed recipe for encoders, for a model to go on from, and for speed or size."""

import os
import random
import subprocess
import tomllib
import unittest

import heed_cli
from heed_cli import heed

WORDS = {"dog": "N", "cat": "N", "child": "N", "runs": "V", "sits": "V", "the": "D", "a": "D"}


class RecipeOfTask(heed_cli.CliTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        self.sentences = [[draw.choice(list(WORDS)) for _ in range(draw.randint(3, 7))] for _ in range(1200)]
        self.text = self.file("text", "".join(" ".join(words) + "\n" for words in self.sentences))
        self.labeled = self.file("labeled", "".join(f"{' '.join(words)}\t{'long' if len(words) > 5 else 'short'}\n"
                                                    for words in self.sentences[:300]))
        self.tagged = self.file("tagged", "".join("".join(f"{word}\t{WORDS[word]}\n" for word in words) + "\n"
                                                  for words in self.sentences[:200]))
        self.recipe = self.path / "recipe.toml"

    def written(self, *arguments):
        result = heed("recipe", *arguments, "--minutes", "0.2", "--out", self.recipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return tomllib.loads(self.recipe.read_text())

    def trained(self, name="model"):
        result = heed("train", self.recipe, "--out", self.path / name)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return self.path / name

    def random_model(self, name, *changes):
        subprocess.run([os.environ["HEED_MAKE_MODEL"], self.path / name, *changes], check=True, stdout=subprocess.DEVNULL)
        return self.path / name

    def test_of_a_masked_language_model_which_others_go_on_from(self):
        settings = self.written("--task", "masked-lm", "--text", self.text)
        self.assertEqual(settings["training"]["task"], "masked-lm")
        self.assertEqual(settings["model"]["architecture"], "encoder")
        pretrained = self.trained("pretrained")
        settings = self.written("--task", "classify", "--text", self.labeled, "--from", pretrained)
        self.assertEqual(settings["training"]["from"], str(pretrained))
        self.assertNotIn("model", settings["model"])  # the form is the other model's
        self.assertNotIn("adapter", settings)
        self.trained("classifier")
        for task, text in (("tag", self.tagged), ("masked-lm", self.text)):
            self.written("--task", task, "--text", text, "--from", pretrained)
            self.trained(f"more-{task}")
        self.assert_refused("recipe", "--task", "language-model", "--text", self.text, "--from", pretrained, "--out",
                            self.recipe, mentions=("is an encoder", "fine-tunes"))

    def test_of_labels_it_counts_them_and_keeps_texts(self):
        settings = self.written("--task", "classify", "--text", self.labeled)
        content = self.recipe.read_text()
        self.assertRegex(content, r"# 270 texts, 2 different labels: short \(\d+\), long \(\d+\)\.")
        self.assertRegex(content, r"# Who always said short would be right in \d\d%")
        kept, train = ((self.path / f"recipe.{part}").read_text().splitlines() for part in ("validation", "train"))
        self.assertEqual(sorted(kept + train), sorted(self.labeled.read_text().splitlines()))
        self.assertEqual(settings["model"]["head"], "label")
        model = self.trained()
        answer = heed("classify", "--model", model, text="the dog runs\n")
        self.assertIn(answer.stdout.strip(), ("short", "long"))

    def test_of_labels_of_words(self):
        settings = self.written("--task", "tag", "--text", self.tagged, "--validation", self.tagged)
        self.assertEqual((settings["data"]["format"], settings["model"]["head"]), ("columns", "token-labels"))
        self.assertEqual(heed("tag", "--model", self.trained(), text="the dog runs\n").stdout.strip(), "D N V")

    def test_of_pairs_and_numbers(self):
        pairs = self.file("pairs", "".join(f"{' '.join(words)}\t{words[0]}\t{len(words)}.5\n" for words in self.sentences[:100]))
        settings = self.written("--task", "classify", "--text", pairs)
        self.assertEqual((settings["data"]["pairs"], settings["model"]["head"], settings["model"]["token_types"]),
                         (True, "number", 2))
        self.trained()

    def test_a_model_that_was_trained_goes_on_at_a_low_rate(self):
        source = self.file("source", "".join(" ".join(words) + "\n" for words in self.sentences))
        translator = self.random_model("translator", f"source={source}", f"target={source}", "width=32", "layers=1",
                                       "vocabulary=300")
        settings = self.written("--source", source, "--target", source, "--from", translator)
        self.assertLessEqual(settings["schedule"]["peak"], 3e-4)
        self.assertNotIn("tokenizer", settings)
        self.trained()
        lm = self.random_model("lm", "architecture=causal-lm", f"target={source}", "width=32", "layers=1", "vocabulary=300")
        self.assertEqual(self.written("--task", "language-model", "--text", source, "--from", lm)["training"]["task"],
                         "language-model")
        self.trained("more")
        self.assert_refused("recipe", "--source", source, "--target", source, "--from", translator, "--for", "speed",
                            "--out", self.path / "x.toml", mentions=("--for speed", "--from"))

    def test_where_memory_is_short_adapters_are_trained(self):
        large = self.random_model("large", "architecture=encoder", f"target={self.text}", "width=256", "inner=1024",
                                  "layers=4", "heads=4", "vocabulary=300")
        arguments = ("--task", "classify", "--text", self.labeled, "--from", large)
        all_weights = self.written(*arguments)["schedule"]["peak"]
        settings = self.written(*arguments, "--memory", "0.06")
        self.assertEqual(settings["adapter"]["rank"], 16)
        self.assertAlmostEqual(settings["schedule"]["peak"], 10 * all_weights, delta=0.02 * all_weights)
        self.assertIn("small matrices", self.recipe.read_text())
        self.trained()
        self.recipe.unlink()
        self.assert_refused("recipe", *arguments, "--memory", "0.001", "--out", self.recipe,
                            mentions=("even adapters take",))
        self.assertFalse(self.recipe.exists())

    def test_for_speed_most_layers_are_the_encoders(self):
        source = self.file("source", "".join(" ".join(words) + "\n" for words in self.sentences))
        usual = self.written("--source", source, "--target", source)["model"]
        fast = self.written("--source", source, "--target", source, "--for", "speed")["model"]
        self.assertEqual((fast["decoder_layers"], fast["autoregression"]), (1, "ssru"))
        self.assertGreater(fast["encoder_layers"], usual["encoder_layers"])
        self.trained()
        for aim in ("size", "quality"):
            self.written("--source", source, "--target", source, "--for", aim)
            self.assertIn(f"# For {aim}: ", self.recipe.read_text())

    def test_minutes_too_few_for_a_validation_say_what_would_do(self):
        large = self.file("large", self.text.read_text() * 60)
        self.assert_refused("recipe", "--source", self.text, "--target", self.text, "--validation", large, large,
                            "--minutes", "0.1", "--out", self.recipe, mentions=("--minutes is 0.1", "at least"))
        self.assertFalse(self.recipe.exists())

    def test_what_cannot_be_learned_from_is_refused(self):
        few = self.file("few", "a\tx\n" * 20)
        one = self.file("one", "a b\tx\n" * 100)
        bad = self.file("bad", "a\tx\nno label\n" + "a\tx\n" * 100)
        unknown = self.file("unknown", "a\tnobody\n")
        for arguments, mentions in [
                (("classify", "--text", few), ("20 texts are too few", "--validation")),
                (("classify", "--text", one), ("one label alone",)),
                (("classify", "--text", bad), ("bad:2", "1 column")),
                (("classify", "--text", self.labeled, "--validation", unknown), ("'nobody'", "lacks")),
                (("classify", "--text", self.labeled, "--validation", self.tagged), ("label",)),
                (("tag", "--text", self.text), ("column",)),
                (("classify", "--source", self.text, "--target", self.text), ("--text alone",)),
                (("masked-lm", "--text", few), ("too few to learn from",)),
                (("classify", "--text", self.labeled, "--from", self.path / "nowhere"), ("nowhere",)),
                (("classify", "--text", self.labeled, "--memory", "-1"), ("--memory is -1",))]:
            self.assert_refused("recipe", "--task", *arguments, "--out", self.recipe, mentions=mentions)
        self.assertEqual(list(self.path.glob("recipe*")), [])


if __name__ == "__main__":
    unittest.main()
