"""heed export to directories of Hugging Face and CTranslate2: models that heed trained go out and come back the same."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import heed_cli
import safetensors_file
from heed_cli import heed

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
FORMS = {
    "llama": {"architecture": "causal-lm", "positions": "rotary", "model.key_value_heads": 2, "model.activation": "silu",
              "model.gated": "true", "model.norm": "rms", "model.bias": "false", "model.output_bias": "false",
              "model.embedding_scale": "none", "documents": "line"},
    "gpt2": {"architecture": "causal-lm", "positions": "learned", "model.activation": "gelu-tanh", "model.tie": "output",
             "model.output_bias": "false", "model.embedding_scale": "none", "kind": "byte", "vocabulary": 0},
    "bert": {"architecture": "encoder", "positions": "learned", "model.head": "none", "model.norm_placement": "post",
             "model.final_norm": "false", "model.embedding_norm": "true", "model.embedding_scale": "none",
             "model.output_bias": "false", "model.activation": "gelu", "model.token_types": 2, "kind": "wordpiece"},
    "marian": {"positions": "sinusoidal", "model.sinusoid": "halves", "model.norm_placement": "post",
               "model.final_norm": "false", "kind": "unigram"},
    "bart": {"shared": 1, "model.tie": "all", "positions": "learned", "model.position_offset": 2,
             "model.norm_placement": "post", "model.final_norm": "false", "model.embedding_norm": "true", "kind": "char",
             "vocabulary": 0},
    "mbart": {"shared": 1, "model.tie": "all", "positions": "learned", "model.position_offset": 2,
              "model.embedding_norm": "true", "kind": "unigram"},
    "m2m_100": {"shared": 1, "model.tie": "all", "positions": "sinusoidal", "model.sinusoid": "halves-inclusive",
                "model.position_offset": 1, "model.output_bias": "false", "kind": "word", "vocabulary": 0},
    "t5": {"shared": 1, "model.tie": "all", "positions": "relative-bias", "model.norm": "rms", "model.bias": "false",
           "model.output_bias": "false", "model.attention_scale": 1.0, "model.embedding_scale": "none",
           "model.epsilon": 1e-6, "model.output_scale": 32 ** -0.5, "kind": "bpe"},
}
SENTENCES = "The man sees the dog.\nA cat sleeps in the garden\n"


def make_model(path, form, **changes):
    arguments = FORMS.get(form, {}) | {name.replace("__", "."): value for name, value in changes.items()}
    subprocess.run([MAKE_MODEL, path, *(f"{name}={value}" for name, value in arguments.items())], check=True)
    return path


def results(form, model):
    exact = ("--precision", "f32", "--threads", "1")
    if form in ("llama", "gpt2"):
        out = json.loads(heed("generate", "--model", model, "--prompt", "the man", "--temperature", "0", "--max-tokens",
                              "12", "--json", "--token-scores", *exact).stdout)
        return [token["log_probability"] for token in out["each"]]
    if form == "bert":
        return heed("embed", "--model", model, *exact, text=SENTENCES).stdout
    out = heed("translate", "--model", model, "--beam", "4", "--max-tokens", "12", "--scores", "--token-scores", *exact,
               text=SENTENCES).stdout
    return [line.split("\t")[1:] for line in out.splitlines()]


class ExportDirectories(heed_cli.CliTest):
    def export(self, model, name, *options, format="huggingface"):
        out = self.path / name
        made = heed("export", "--model", model, "--format", format, "--out", out, *options)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        return out, made.stdout

    def test_models_of_each_form_come_back_the_same(self):
        for form in FORMS:
            with self.subTest(form):
                model = make_model(self.path / form, form)
                out, said = self.export(model, form + "-out")
                _, tensors = safetensors_file.read(out / "model.safetensors")
                self.assertEqual(said, f"{form}: {len(tensors)} tensors, {(out / 'model.safetensors').stat().st_size} bytes\n")
                config = json.loads((out / "config.json").read_text())
                self.assertEqual((config["model_type"], config["torch_dtype"]), (form, "float32"))
                expected = results(form, model)
                self.assertTrue(expected)
                self.assertEqual(results(form, out), expected)
                heed("import", out, "--out", self.path / (form + "-again"))
                self.assertEqual(results(form, self.path / (form + "-again")), expected)

    def test_files_say_what_the_model_is(self):
        out, _ = self.export(make_model(self.path / "llama", "llama"), "out")
        config, generation, tokenizer = (json.loads((out / name).read_text()) for name in (
            "config.json", "generation_config.json", "tokenizer_config.json"))
        for key, value in {"architectures": ["LlamaForCausalLM"], "hidden_size": 32, "num_attention_heads": 4,
                           "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 64, "hidden_act": "silu",
                           "tie_word_embeddings": False, "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}.items():
            self.assertEqual(config[key], value, key)
        self.assertEqual(generation, {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0})
        self.assertEqual((tokenizer["bos_token"], tokenizer["unk_token"]), ("<s>", "<unk>"))
        self.assertEqual(json.loads((out / "tokenizer.json").read_text())["post_processor"]["single"],
                         [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}])

    def test_translations_may_be_as_long_as_the_model_allows(self):
        model = make_model(self.path / "bart", "bart")
        own = json.loads((model / "config.json").read_text())
        out, _ = self.export(model, "out")
        generation = json.loads((out / "generation_config.json").read_text())
        # The token that the decoder reads first counts there.
        self.assertEqual(generation["max_length"], own["model"]["max_length"] + 1)
        heed("import", out, "--out", self.path / "again")
        again = json.loads((self.path / "again" / "config.json").read_text())
        self.assertNotIn("max_tokens", again["decoding"])

    def test_tensors_are_the_rows_of_the_model(self):
        model = make_model(self.path / "llama", "llama")
        out, _ = self.export(model, "out")
        own, exported = (safetensors_file.read(folder / "model.safetensors")[1] for folder in (model, out))
        stacked = own["decoder.layers.1.attention.projection.weight"][2]
        q, k, v = (exported[f"model.layers.1.self_attn.{name}_proj.weight"] for name in "qkv")
        self.assertEqual(q[2] + k[2] + v[2], stacked)
        self.assertEqual((q[1], k[1]), ([32, 32], [16, 32]))
        self.assertEqual(exported["model.norm.weight"][2], own["decoder.norm.gain"][2])

    def test_heads_of_encoders_are_exported_with_their_labels(self):
        labels = {"model.labels": '["bad", "good"]', "model.output_bias": "true"}
        heads = {"BertForMaskedLM": {"model.head": "tokens", "model.head_layer": "gelu", "model.head_layer_norm": "true",
                                     "model.tie": "output", "model.output_bias": "true"},
                 "BertForSequenceClassification": labels | {"model.head": "label", "model.head_layer": "tanh"},
                 "BertForTokenClassification": labels | {"model.head": "token-labels"}}
        for name, settings in heads.items():
            with self.subTest(name):
                model = make_model(self.path / name, "bert", **{key.replace(".", "__"): value for key, value in settings.items()})
                out, _ = self.export(model, name + "-out")
                config = json.loads((out / "config.json").read_text())
                self.assertEqual(config["architectures"], [name])
                self.assertEqual(results("bert", out), results("bert", model))
                if "label2id" in config:
                    self.assertEqual(config["label2id"], {"bad": 0, "good": 1})
                    command = "tag" if name.startswith("BertForToken") else "classify"
                    said = [heed(command, "--model", folder, "--precision", "f32", text=SENTENCES).stdout for folder in (model, out)]
                    self.assertTrue(said[0])
                    self.assertEqual(said[0], said[1])

    def test_the_chat_template_is_copied(self):
        model = make_model(self.path / "llama", "llama")
        (model / "chat_template.jinja").write_text("{{ messages[0].content }}")
        (model / "tokenizer_config.json").write_text('{"eos_token": "</s>", "chat_template": "{{ bos_token }}"}')
        out, _ = self.export(model, "out")
        self.assertEqual((out / "chat_template.jinja").read_text(), "{{ messages[0].content }}")
        config = json.loads((out / "tokenizer_config.json").read_text())
        self.assertEqual((config["chat_template"], config["eos_token"], config["bos_token"]), ("{{ bos_token }}", "</s>", "<s>"))

    def test_weights_have_the_type_that_is_asked_for(self):
        model = make_model(self.path / "bert", "bert")
        for name, stored, torch_name in (("bf16", "BF16", "bfloat16"), ("f16", "F16", "float16"), ("f32", "F32", "float32")):
            out, _ = self.export(model, name, "--type", name)
            _, tensors = safetensors_file.read(out / "model.safetensors")
            self.assertEqual({tensor[0] for tensor in tensors.values()}, {stored})
            self.assertEqual(json.loads((out / "config.json").read_text())["torch_dtype"], torch_name)

    def test_ctranslate2_directories_translate_the_same(self):
        for form in ("marian", "bart"):
            with self.subTest(form):
                model = make_model(self.path / form, form)
                out, said = self.export(model, form + "-out", format="ctranslate2")
                self.assertTrue(said.startswith("ctranslate2: "))
                self.assertEqual(struct.unpack_from("<I", (out / "model.bin").read_bytes())[0], 6)
                if form == "marian":
                    self.assertEqual(results(form, out), results(form, model))
        # heed's own sinusoids become a table.
        model = make_model(self.path / "own", "", kind="bpe", model__tie="output")
        out, _ = self.export(model, "own-out", format="ctranslate2")
        self.assertEqual(results("marian", out), results("marian", model))
        small, _ = self.export(model, "own-int8", "--type", "int8", format="ctranslate2")
        self.assertLess((small / "model.bin").stat().st_size, 0.6 * (out / "model.bin").stat().st_size)
        self.assertEqual(heed("inspect", small).returncode, 0)

    def test_what_does_not_fit_is_refused_in_one_line(self):
        out = self.path / "out"

        def refuse(model, *options, mentions, format="huggingface"):
            self.assert_refused("export", "--model", model, "--format", format, "--out", out, *options, mentions=mentions)
            self.assertFalse(out.exists())

        refuse(make_model(self.path / "default", ""), mentions=('sinusoid = "interleaved"', "Pegasus form", 'needs "halves"'))
        refuse(make_model(self.path / "capped", "llama", model__logit_cap=5.0), mentions=("logit_cap = 5", "Llama form"))
        refuse(make_model(self.path / "alibi", "llama", positions="alibi"), mentions=('positions = "alibi"', "needs"))
        refuse(make_model(self.path / "pair", "bart", shared=0, model__tie="output"), mentions=("a tokenizer for sources and another",))
        refuse(make_model(self.path / "behind", "m2m_100", model__position_offset=2),
               mentions=("position_offset = 2", "m2m_100", "needs 1", "is 0 here"))
        bert = make_model(self.path / "bert", "bert")
        refuse(bert, "--type", "q8_0", mentions=("'q8_0' is not one of f32, bf16, f16",))
        refuse(bert, mentions=("holds an encoder",), format="ctranslate2")
        heed("quantize", "--model", bert, "--out", self.path / "small")
        refuse(self.path / "small", mentions=("quantized weights",))
        gated = make_model(self.path / "keys", "marian", model__key_value_heads=2)
        refuse(gated, mentions=("key_value_heads",), format="ctranslate2")
        out.mkdir()
        (out / "config.json").write_text("{}")
        self.assert_refused("export", "--model", bert, "--format", "huggingface", "--out", out, mentions=("holds a model already",))
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["config.json"])
        self.assert_refused("export", "--model", bert, "--out", self.path / "dir", mentions=(".gguf", "--format"))


if __name__ == "__main__":
    unittest.main()
