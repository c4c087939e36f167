"""heed inspect: the parameter table, and every way in which a recipe can be wrong."""

import json
import math
import pathlib
import re
import unittest

import heed_cli
from heed_cli import RECIPE, heed
from model_folder import make_model


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


SMALL = """
[model]
architecture = "{architecture}"
model = 32
inner = 48
heads = 4
encoder_layers = 2
decoder_layers = 2
source_vocabulary = {source}
target_vocabulary = {target}
{more}
"""


class Probe(heed_cli.CliTest):
    def recipe(self, architecture, more=""):
        source = 0 if architecture == "causal-lm" else 60
        target = 0 if architecture == "encoder" else 70
        return self.file(f"{architecture}.toml",
                         SMALL.format(architecture=architecture, source=source, target=target, more=more))

    def probe(self, path, *options):
        result = heed("inspect", path, "--probe", "--json", *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        probe = json.loads(result.stdout)
        self.assertTrue(probe["sound"])
        return probe

    def changed(self, probe):
        return {(c["stream"], c["stack"]): c["changed"] for c in probe["changes"]}

    def test_a_changed_token_reaches_all_of_an_encoder_and_only_later_positions_of_a_decoder(self):
        decoder = self.probe(self.recipe("causal-lm"), "--length", 10)
        self.assertEqual(self.changed(decoder), {("text", "decoder"): [5, 6, 7, 8, 9]})
        encoder = self.probe(self.recipe("encoder"), "--length", 6)
        self.assertEqual(self.changed(encoder), {("text", "encoder"): [0, 1, 2, 3, 4, 5]})
        both = self.probe(self.recipe("seq2seq"), "--length", 8)
        self.assertEqual(self.changed(both), {
            ("source", "encoder"): list(range(8)), ("source", "decoder"): list(range(6)),
            ("target", "encoder"): [], ("target", "decoder"): [3, 4, 5]})

    def test_a_window_reaches_one_window_further_with_each_layer(self):
        probe = self.probe(self.recipe("encoder", "window = 2"), "--length", 12)
        self.assertEqual(self.changed(probe), {("text", "encoder"): [4, 5, 6, 7, 8]})
        self.assertEqual([c["unchanged"] for c in probe["changes"]], [[]])

    def test_every_variant_is_sound(self):
        for more in ('positions = "rotary"', 'positions = "alibi"', 'positions = "relative-bias"',
                     'positions = "relative-keys"', 'positions = "relative-keys-values"', 'norm_placement = "post"', 'gated = true',
                     'qk_norm = "head"\nembedding_norm = true', 'qk_norm = "all"\nvalue_width = 6',
                     'logit_cap = 3.0\nattention_cap = 2.0', 'init = "pytorch"',
                     'attention = ["local:3+strided:2", "full"]',
                     'key_value_heads = [1, 4]\npositions = "rotary"\nrotary_base = [1e4, 0]', 'attention = ["linear"]\nlinear_feature = "exp"', 'recompute_layers = true'):
            for architecture in ("seq2seq", "causal-lm", "encoder"):
                with self.subTest(more=more, architecture=architecture):
                    self.probe(self.recipe(architecture, more))

    def test_a_norm_puts_out_mean_0_and_deviation_1_at_the_beginning(self):
        parts = {part["name"]: part for part in self.probe(self.recipe("seq2seq"))["parts"]}
        norm = parts["decoder.layers.1.cross_attention.norm"]
        self.assertEqual(norm["shape"], [24, 32])
        self.assertAlmostEqual(norm["mean"], 0.0, places=6)
        self.assertAlmostEqual(norm["deviation"], 1.0, places=3)
        relu = parts["encoder.layers.0.feed_forward.inner"]
        self.assertEqual((relu["shape"], relu["minimum"]), ([32, 48], 0.0))
        self.assertGreater(relu["maximum"], relu["mean"])
        self.assertEqual(parts["logits"]["shape"], [24, 70])
        self.assertEqual((parts["source"]["shape"], parts["target"]["shape"]), ([32, 32], [24, 32]))

    def test_the_rows_of_attention_sum_to_one_in_every_layer(self):
        attention = self.probe(self.recipe("seq2seq"))["attention"]
        self.assertEqual(len(attention), 2 + 2 * 2)
        for layer in attention:
            self.assertAlmostEqual(layer["minimum_sum"], 1.0, places=5, msg=layer["name"])
            self.assertAlmostEqual(layer["maximum_sum"], 1.0, places=5, msg=layer["name"])
            self.assertEqual(layer["on_hidden_keys"], 0.0, layer["name"])

    def test_every_parameter_has_a_gradient_and_layers_add_up(self):
        recipe = self.recipe("causal-lm")
        probe = self.probe(recipe)
        names = re.findall(r"(?m)^(\S+)\s+\[", heed("inspect", recipe).stdout)
        self.assertEqual([one["name"] for one in probe["parameters"]], names)
        for one in probe["parameters"]:
            self.assertGreater(one["gradient_norm"], 0.0, one["name"])
        layer = math.hypot(*(one["gradient_norm"] for one in probe["parameters"]
                             if one["name"].startswith("decoder.layers.1.")))
        [found] = [one for one in probe["layers"] if one["name"] == "decoder.layers.1"]
        self.assertAlmostEqual(found["gradient_norm"], layer, places=6)

    def test_an_untrained_model_guesses_no_better_than_equal_probabilities(self):
        probe = self.probe(self.recipe("causal-lm"))
        self.assertAlmostEqual(probe["uniform_guess"], math.log(70), places=6)
        self.assertGreater(probe["loss"], math.log(70) - 0.5)

    def test_the_seed_draws_tokens_and_weights(self):
        recipe = self.recipe("causal-lm")
        first = self.probe(recipe)
        self.assertEqual(self.probe(recipe, "--threads", 1), first)
        self.assertNotEqual(self.probe(recipe, "--seed", 2)["loss"], first["loss"])

    def test_heads_for_labels_are_probed_too(self):
        for head in ("label", "labels", "number", "token-labels"):
            with self.subTest(head):
                probe = self.probe(self.recipe("encoder", f'head = "{head}"'))
                self.assertEqual("pool" in [part["name"] for part in probe["parts"]], head != "token-labels")

    def test_a_vocabulary_left_to_the_tokenizer_is_named_with_the_size_assumed(self):
        recipe = heed_cli.SOURCE / "recipes" / "multi30k-de-en.toml"
        result = heed("inspect", recipe, "--probe")
        self.assertIn("source_vocabulary 4000: the most that the recipe's tokenizer may have\n", result.stdout)
        absent = heed("inspect", self.recipe_with(source_vocabulary=0, target_vocabulary=0), "--probe", "--set",
                      "tokenizer.kind=word", "--set", "tokenizer.vocabulary=0", "--set", "data.train_source=absent.de",
                      "--set", "data.train_target=absent.en")
        self.assertIn("target_vocabulary 1000: assumed", absent.stdout)

    def test_a_trained_models_weights_are_read(self):
        make_model(self.path / "model", end_bias=3.0)
        probe = self.probe(self.path / "model")
        [bias] = [one for one in probe["parameters"] if one["name"] == "output.bias"]
        self.assertAlmostEqual(bias["norm"], 3.0, places=6)
        self.assertRegex(heed("inspect", self.path / "model").stdout, r"(?m)^parameters +\d+$")
        self.assert_refused("inspect", self.path / "model", "--set", "model.inner=3", mentions=("trained model",))

    def test_what_a_probe_cannot_do_is_refused(self):
        recipe = self.recipe("causal-lm")
        self.assert_refused("inspect", recipe, "--json", mentions=("--probe",))
        self.assert_refused("inspect", recipe, "--probe", "--length", 1, mentions=("1 tokens, expected 2",))
        short = ("inspect", recipe, "--probe", "--set", "model.max_length=8")
        self.assert_refused(*short, "--length", 9, mentions=("9 tokens, expected 2 to 8, which is model.max_length",))
        self.assertEqual(heed(*short, "--json").returncode, 0)
        self.assert_refused("inspect", recipe, "--probe", "--sequences", 0, mentions=("0 sequences",))
        self.assert_refused("inspect", recipe, "--probe", "--set", "model.target_vocabulary=1", mentions=("two tokens",))
        self.assert_refused("inspect", recipe, "--probe", "--set", "model.model=65536", "--set", "model.inner=1048576",
                            mentions=("GB of memory",))


class WrongRecipes(heed_cli.CliTest):
    def refuse(self, path, *mentions):
        return self.assert_refused("inspect", path, mentions=(path, *mentions))

    def test_an_unknown_key_is_named_with_its_line_and_the_nearest_one(self):
        path = self.file("key.toml", "[model]\nmodel = 8\nencoder_layer = 3\n")
        self.refuse(path, "key.toml:3:", "'encoder_layer'", "'encoder_layers'")

    def test_an_unknown_table_is_named(self):
        self.refuse(self.file("table.toml", "[modell]\nmodel = 8\n"), "'modell'", "'model'")

    def test_what_makes_no_sense_about_blocks_is_refused(self):
        self.refuse(self.recipe_with(logit_cap="-30.0"), "logit_cap is -30, expected above 0, or 0 for none")
        self.refuse(self.recipe_with(attention_cap="nan"), "attention_cap is nan")
        self.refuse(self.recipe_with(attention_cap="50.0", positions='"alibi"'), "attention_cap does not go with positions")
        self.refuse(self.recipe_with(value_width="-4"), "value_width is -4")
        self.refuse(self.recipe_with(qk_norm='"each"'), "qk_norm: 'each' is not one of none, head, all")
        self.refuse(self.recipe_with(embedding_norm="1"), "embedding_norm must be true or false")
        self.refuse(self.recipe_with(init='"torch"'), "init: 'torch' is not one of xavier, xavier-all, normal, pytorch")

    def test_heads_that_do_not_divide_the_model_name_both(self):
        self.refuse(self.recipe_with(heads=7), "heads 7 does not divide model 512")

    def test_a_value_of_the_wrong_type_names_key_type_and_line(self):
        self.refuse(self.file("type.toml", "[model]\nmodel = \"wide\"\n"), "type.toml:2:", "model must be an integer")

    def test_an_unknown_choice_lists_the_known_ones(self):
        self.refuse(self.recipe_with(activation='"sigmoid"'), "sigmoid", "relu, relu-squared, gelu, gelu-tanh, silu")

    def test_a_missing_file_is_named(self):
        self.refuse(self.path / "absent.toml", "No such file")

    def test_a_file_without_end_is_not_read_for_ever(self):
        self.refuse("/dev/zero", "is larger than 1 GiB")

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
