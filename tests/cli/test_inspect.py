"""heed inspect: the parameter table, and every way in which a recipe can be wrong."""

import pathlib
import re
import unittest

import heed_cli
from heed_cli import RECIPE, heed


class Inspect(heed_cli.CliTest):
    def test_the_tutorials_model_has_as_many_parameters_as_counted_by_hand(self):
        result = heed("inspect", RECIPE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^parameters\s+14866532$")

    def test_the_table_adds_up_to_its_last_line(self):
        rows = re.findall(r"(?m)^(\S+)\s+\[([\d, ]+)\]\s+(\d+)$", heed("inspect", RECIPE).stdout)
        total = 0
        for name, shape, elements in rows:
            product = 1
            for extent in shape.split(", "):
                product *= int(extent)
            self.assertEqual(product, int(elements), name)
            total += product
        self.assertEqual(total, 14866532)
        self.assertEqual(len({name for name, _, _ in rows}), len(rows))

    def test_a_vocabulary_left_to_the_tokenizer_is_shown_at_its_largest(self):
        recipe = heed_cli.SOURCE / "recipes" / "multi30k-de-en.toml"
        self.assertIn("source_vocabulary = 4000\n", heed("inspect", recipe).stdout)
        changed = heed("inspect", recipe, "--set", "tokenizer.vocabulary=300", "--set", "model.inner=96").stdout
        self.assertIn("target_vocabulary = 300\n", changed)
        self.assertIn("inner = 96\n", changed)

    def test_a_vocabulary_of_characters_is_counted_in_the_text(self):
        text = self.file("text.txt", "abc\nabd\n")
        recipe = self.file("letters.toml", f"""
[model]
architecture = "causal-lm"
[data]
train = ["{text}"]
[tokenizer]
kind = "char"
vocabulary = 0
""")
        special = 5  # pad, unk, bos, eos, sep
        self.assertIn(f"target_vocabulary = {5 + special}\n", heed("inspect", recipe).stdout)
        text.unlink()
        self.assertIn("target_vocabulary = 0\n", heed("inspect", recipe).stdout)

    def test_the_printed_architecture_is_a_recipe_for_the_same_model(self):
        printed = heed("inspect", RECIPE).stdout
        again = heed("inspect", self.file("again.toml", "[model]\n" + printed.split("\n\n")[0] + "\n"))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout, printed)


class Settings(heed_cli.CliTest):
    def test_set_replaces_what_the_recipe_says(self):
        changed = heed("inspect", RECIPE, "--set", "model.inner=1024", "--set", "model.heads=4")
        self.assertEqual((changed.returncode, changed.stderr), (0, ""))
        self.assertEqual(changed.stdout, heed("inspect", self.recipe_with(inner=1024, heads=4)).stdout)
        self.assert_refused("inspect", RECIPE, "--set", "model.iner=3", mentions=("'iner'", "'inner'"))

    def test_a_vocabulary_that_only_the_text_decides_is_shown_by_name(self):
        path = self.file("char.toml", "[model]\narchitecture = \"causal-lm\"\nmodel = 64\ninner = 128\nheads = 4\n"
                         "decoder_layers = 1\n[data]\ntrain = \"text\"\n[tokenizer]\nkind = \"char\"\nvocabulary = 0\n")
        result = heed("inspect", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^\S+\s+\[target_vocabulary, 64\]\s+64 x target_vocabulary$")
        known = int(re.search(r"(?m)^parameters +(\d+) \+ (\d+) x target_vocabulary$", result.stdout).group(1))
        a_token = int(re.search(r"(\d+) x target_vocabulary$", result.stdout.strip()).group(1))
        given = heed("inspect", path, "--set", "model.target_vocabulary=100")
        self.assertRegex(given.stdout, rf"(?m)^parameters +{known + 100 * a_token}$")

    def test_two_vocabularies_have_two_names_and_a_shared_one_has_one(self):
        recipe = self.recipe_with(source_vocabulary=0, target_vocabulary=0)
        absent = ("--set", "tokenizer.kind=word", "--set", "tokenizer.vocabulary=0",
                  "--set", "data.train_source=absent.de", "--set", "data.train_target=absent.en")
        apart = heed("inspect", recipe, *absent).stdout
        self.assertRegex(apart, r"(?m)^parameters .* \+ \d+ x source_vocabulary \+ \d+ x target_vocabulary$")
        shared = heed("inspect", recipe, *absent, "--set", "model.tie=all").stdout
        self.assertRegex(shared, r"(?m)^parameters +\d+ \+ \d+ x vocabulary$")


class WrongRecipes(heed_cli.CliTest):
    def refuse(self, path, *mentions):
        return self.assert_refused("inspect", path, mentions=(path, *mentions))

    def test_an_unknown_key_is_named_with_its_line_and_the_nearest_one(self):
        path = self.file("key.toml", "[model]\nmodel = 8\nencoder_layer = 3\n")
        self.refuse(path, "key.toml:3:", "'encoder_layer'", "'encoder_layers'")

    def test_an_unknown_table_is_named(self):
        self.refuse(self.file("table.toml", "[modell]\nmodel = 8\n"), "'modell'", "'model'")

    def test_heads_that_do_not_divide_the_model_name_both(self):
        self.refuse(self.recipe_with(heads=7), "heads 7 does not divide model 512")

    def test_a_value_of_the_wrong_type_names_key_type_and_line(self):
        self.refuse(self.file("type.toml", "[model]\nmodel = \"wide\"\n"), "type.toml:2:", "model must be a whole number")

    def test_an_unknown_choice_lists_the_known_ones(self):
        self.refuse(self.recipe_with(activation='"sigmoid"'), "sigmoid", "relu, gelu, gelu-tanh, silu")

    def test_a_missing_file_is_named(self):
        self.refuse(self.path / "absent.toml", "No such file")

    def test_a_folder_is_named(self):
        self.refuse(self.path, "directory")

    def test_an_empty_file_lacks_the_table(self):
        self.refuse(self.file("empty.toml", ""), "[model]")

    def test_invalid_toml_names_the_line(self):
        self.refuse(self.file("invalid.toml", "[model]\nmodel = \n"), "invalid.toml:2:")
        self.refuse(self.file("twice.toml", "[model]\nmodel = 1\nmodel = 2\n"), "twice.toml:3:")
        self.refuse(self.file("open.toml", "[model\n"), "open.toml:1:")

    def test_bytes_that_are_not_text_are_refused(self):
        self.refuse(self.file("random.toml", bytes((i * 197 + 31) % 256 for i in range(4096))))
        self.refuse(self.file("zeros.toml", bytes(4096)))
        self.refuse(self.file("program.toml", pathlib.Path(heed_cli.BINARY).read_bytes()[:65536]))

    def test_deep_nesting_does_not_overflow_the_stack(self):
        self.refuse(self.file("deep.toml", "[model]\nmodel = " + "[" * 100000 + "]" * 100000 + "\n"))

    def test_numbers_out_of_range_are_refused(self):
        self.refuse(self.recipe_with(model="99999999999999999999999"))
        self.refuse(self.recipe_with(epsilon="nan"), "epsilon")
        self.refuse(self.recipe_with(epsilon="inf"), "epsilon")
        self.refuse(self.recipe_with(branch_dropout="nan"), "branch_dropout")
        self.refuse(self.recipe_with(branch_dropout="1.0"), "branch_dropout")


class HugeSizes(heed_cli.CliTest):
    """Refused at once: a size that is a typing error must not be tried first."""

    def test_one_huge_size_is_refused(self):
        for key in ("model", "inner", "heads", "source_vocabulary", "target_vocabulary", "max_length"):
            with self.subTest(key):
                self.assert_refused("inspect", self.recipe_with(**{key: 10000000000}), mentions=("10000000000",))

    def test_a_huge_product_of_sizes_is_refused(self):
        for changes in ({"model": 16777216, "inner": 16777216}, {"model": 16777216, "source_vocabulary": 16777216},
                        {"model": 16777216, "max_length": 16777216}, {"heads": 16777216, "head_width": 16777216}):
            with self.subTest(changes):
                self.assert_refused("inspect", self.recipe_with(**changes), mentions=("parameters",))

    def test_millions_of_layers_are_refused(self):
        for key in ("encoder_layers", "decoder_layers"):
            with self.subTest(key):
                self.assert_refused("inspect", self.recipe_with(**{key: 16777216}), mentions=(key, "16777216"))

    def test_negative_sizes_are_refused(self):
        for key in ("model", "inner", "heads", "key_value_heads", "head_width", "encoder_layers", "window",
                    "source_vocabulary", "max_length"):
            with self.subTest(key):
                self.assert_refused("inspect", self.recipe_with(**{key: -1}), mentions=("-1",))


if __name__ == "__main__":
    unittest.main()
