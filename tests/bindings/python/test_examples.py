"""Docstrings are the reference: each public name has an example, and all examples say the truth about small models."""

import doctest
import os
import pathlib
import shutil
import tempfile
import unittest

import heed
from heed_cli import SOURCE
from public_names import public_names

GOLDEN = SOURCE / "tests" / "interchange" / "golden"
MODELS = {"encoder": "encoders/sentence-minilm", "classifier": "encoders/bert-sequence",
          "tagger": "encoders/bert-token", "masked": "encoders/bert-masked", "llama": "decoders/llama"}
PAIRS = {"ein Hund": "a dog", "eine Katze": "a cat", "zwei Hunde": "two dogs", "zwei Katzen": "two cats"}
STORIES = ["once upon a time there was a dog", "the dog sees a cat"]
WITHOUT_DROPOUT = {f"{kind}_dropout": 0.0 for kind in ("embedding", "attention", "inner", "branch")}
# Few texts, learned by heart.
RECIPE = {
    "model": {"model": 32, "inner": 64, "heads": 2, "max_length": 128, **WITHOUT_DROPOUT},
    "tokenizer": {"kind": "word", "minimum_count": 1},
    "schedule": {"peak": 0.01, "warmup": 10},
    "training": {"updates": 150, "log_every": 50, "smoothing": 0.0},
}


def recipe_with(model, data):
    return {**RECIPE, "model": {**RECIPE["model"], **model}, "data": data}


def make_models():
    """In the current folder, what examples name."""
    pathlib.Path("de").write_text("".join(f"{source}\n" for source in PAIRS))
    pathlib.Path("en").write_text("".join(f"{target}\n" for target in PAIRS.values()))
    pathlib.Path("text").write_text("".join(f"{line}\n" for line in STORIES * 4))
    translation = heed.Recipe(recipe_with(
        {"architecture": "seq2seq", "encoder_layers": 1, "decoder_layers": 1},
        {"train_source": ["de"], "train_target": ["en"], "validation_source": ["de"], "validation_target": ["en"]}))
    translation.save("recipe.toml")
    heed.train(translation, "model", threads=1)
    stories = recipe_with({"architecture": "causal-lm", "decoder_layers": 1},
                          {"train": ["text"], "validation": ["text"], "documents": "line", "context": 32})
    heed.train(stories, "stories", threads=1)
    pathlib.Path("stories/chat_template.jinja").write_text("{% for one in messages %}{{ one.content }}{% endfor %}")
    for name, golden in MODELS.items():
        shutil.copytree(GOLDEN / golden, name)


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        cls.models, cls.folder = pathlib.Path(folder.name, "models"), pathlib.Path(folder.name, "examples")
        cls.models.mkdir()
        os.chdir(cls.models)
        make_models()
        cls.names = {"heed": heed, "translator": heed.Translator("model"), "generator": heed.Generator("stories"),
                     "encoder": heed.Encoder("encoder"), "tokenizer": heed.Tokenizer("model/shared.tokenizer")}

    def examples_that_ran(self, name, value):
        """Runs those of a docstring in a folder of its own, and returns how many there were."""
        shutil.copytree(self.models, self.folder)
        os.chdir(self.folder)
        test = doctest.DocTestParser().get_doctest(value.__doc__ or "", dict(self.names), name, None, None)
        shown = []
        found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=shown.append)
        os.chdir(self.models)
        shutil.rmtree(self.folder)
        if found.failed:
            self.fail("".join(shown))
        skipped = [one for one in test.examples if doctest.SKIP in one.options]
        return found.attempted - len(skipped)

    def test_each_public_name_has_an_example_that_runs(self):
        names = dict(public_names())
        self.assertGreater(len(names), 60)
        for name, value in names.items():
            with self.subTest(name):
                self.assertGreater(self.examples_that_ran(name, value), 0)

    def test_examples_of_the_module_and_of_what_it_keeps_to_itself_run(self):
        for name in ("heed", "heed.recipe_text"):
            value = heed if name == "heed" else heed.recipe_text
            self.assertGreater(self.examples_that_ran(name, value), 0)

    def test_a_wrong_example_is_noticed(self):
        def wrong():
            """>>> 1 + 1
            3
            """
        with self.assertRaises(AssertionError):
            self.examples_that_ran("wrong", wrong)
        self.assertEqual(self.examples_that_ran("none", lambda: None), 0)


if __name__ == "__main__":
    unittest.main()
