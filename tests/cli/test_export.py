"""heed export: what a GGUF file holds, by an independent reader, and what is refused."""

import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import heed_cli
import safetensors_file
from gguf_by_spec import F16, F32, Q4_0, Q8_0, read_gguf
from heed_cli import heed

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
WIDTH, INNER, HEADS, KEY_HEADS, LAYERS = 64, 96, 4, 2, 2
HEAD = WIDTH // HEADS
LLAMA = {"architecture": "causal-lm", "positions": "rotary", "width": WIDTH, "inner": INNER, "heads": HEADS, "layers": LAYERS,
         "model.key_value_heads": KEY_HEADS, "model.activation": "silu", "model.gated": "true", "model.norm": "rms",
         "model.bias": "false", "model.output_bias": "false", "model.epsilon": "1e-6", "model.rotary_base": "50000.0"}

GPT2 = {"architecture": "causal-lm", "positions": "learned", "width": WIDTH, "inner": INNER, "heads": HEADS, "layers": LAYERS,
        "model.activation": "gelu-tanh", "model.tie": "output", "model.output_bias": "false", "model.epsilon": "1e-6",
        "model.embedding_scale": "none"}


def make_model(path, form=LLAMA, **changes):
    arguments = form | {name.replace("__", "."): value for name, value in changes.items()}
    subprocess.run([MAKE_MODEL, path, *(f"{name}={value}" for name, value in arguments.items())], check=True)
    return path


def stored_weights(folder):
    _, tensors = safetensors_file.read(folder / "model.safetensors")
    return {name: list(struct.unpack(f"<{len(content) // 4}f", content))
            for name, (_, _, content, _) in tensors.items()}


def rows(values, columns, first, count):
    return [values[r * columns:(r + 1) * columns] for r in range(first, first + count)]


def flat(rows_):
    return [x for row in rows_ for x in row]


def paired(rows_):
    """Columns c and c + half of a head, which turn together, as neighbours."""
    order = [head + pair + side * (HEAD // 2)
             for head in range(0, len(rows_), HEAD) for pair in range(HEAD // 2) for side in (0, 1)]
    return [rows_[i] for i in order]


def expected_tensors(folder, tied, scale):
    """llama.cpp's names, from heed's weights: docs/models/export.md."""
    weights = stored_weights(folder)
    table = weights["embedding.tokens"]
    tensors = {"token_embd.weight": [x * scale for x in table], "output_norm.weight": weights["decoder.norm.gain"]}
    if not tied:
        tensors["output.weight"] = weights["output.weight"]
    elif scale != 1.0:
        tensors["output.weight"] = table
    for layer in range(LAYERS):
        to, found = f"blk.{layer}.", lambda name: weights[f"decoder.layers.{layer}.{name}"]
        projection, inner, keys = found("attention.projection.weight"), found("feed_forward.inner.weight"), KEY_HEADS * HEAD
        tensors[to + "attn_norm.weight"] = found("attention.norm.gain")
        tensors[to + "attn_q.weight"] = flat(paired(rows(projection, WIDTH, 0, WIDTH)))
        tensors[to + "attn_k.weight"] = flat(paired(rows(projection, WIDTH, WIDTH, keys)))
        tensors[to + "attn_v.weight"] = flat(rows(projection, WIDTH, WIDTH + keys, keys))
        tensors[to + "attn_output.weight"] = found("attention.output.weight")
        tensors[to + "ffn_norm.weight"] = found("feed_forward.norm.gain")
        tensors[to + "ffn_gate.weight"] = flat(rows(inner, WIDTH, 0, INNER))
        tensors[to + "ffn_up.weight"] = flat(rows(inner, WIDTH, INNER, INNER))
        tensors[to + "ffn_down.weight"] = found("feed_forward.output.weight")
    return tensors


def expected_gpt2_tensors(folder):
    """The same of a model of GPT-2's form whose table is tied and has no factor."""
    weights = stored_weights(folder)
    tensors = {"token_embd.weight": weights["embedding.tokens"], "position_embd.weight": weights["embedding.positions"],
               "output_norm.weight": weights["decoder.norm.gain"], "output_norm.bias": weights["decoder.norm.bias"]}
    for layer in range(LAYERS):
        to, found = f"blk.{layer}.", lambda name: weights[f"decoder.layers.{layer}.{name}"]
        for name, norm in (("attn_norm", "attention.norm"), ("ffn_norm", "feed_forward.norm")):
            tensors[f"{to}{name}.weight"], tensors[f"{to}{name}.bias"] = found(norm + ".gain"), found(norm + ".bias")
        for name, linear in (("attn_qkv", "attention.projection"), ("attn_output", "attention.output"),
                             ("ffn_up", "feed_forward.inner"), ("ffn_down", "feed_forward.output")):
            tensors[f"{to}{name}.weight"], tensors[f"{to}{name}.bias"] = found(linear + ".weight"), found(linear + ".bias")
    return tensors


class Export(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.models = pathlib.Path(folder.name)
        cls.untied = make_model(cls.models / "untied")  # the table is multiplied by sqrt(width)
        cls.tied = make_model(cls.models / "tied", model__tie="output", model__embedding_scale="none", documents="line")

    def exported(self, model, *options):
        out = self.path / "model.gguf"
        made = heed("export", "--model", model, "--out", out, *options)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        metadata, tensors = read_gguf(out)
        form = metadata["general.architecture"]
        self.assertEqual(made.stdout, f"{form}: {len(tensors)} tensors, {out.stat().st_size} bytes\n")
        return metadata, tensors

    def assert_holds(self, tensors, expected, kind):
        self.assertEqual(set(tensors), set(expected))
        for name, values in expected.items():
            shape, found_kind, found, steps = tensors[name]
            is_vector = len(shape) == 1
            self.assertEqual(found_kind, F32 if is_vector else kind, name)
            self.assertEqual(len(found), len(values), name)
            if is_vector or kind == F32:
                self.assertEqual(found, [struct.unpack("<f", struct.pack("<f", x))[0] for x in values], name)
                continue
            for i, (is_there, wanted) in enumerate(zip(found, values)):
                # Of four bits one sign reaches 7 steps, the other 8.
                step = abs(wanted) * 2**-11 + 2**-25 if kind == F16 else steps[i] * (0.57 if kind == Q8_0 else 1.01)
                self.assertLessEqual(abs(is_there - wanted), step, f"{name}[{i}]")

    def test_f32_is_the_model_with_its_heads_paired(self):
        metadata, tensors = self.exported(self.untied, "--type", "f32")
        self.assert_holds(tensors, expected_tensors(self.untied, tied=False, scale=math.sqrt(WIDTH)), F32)
        self.assertEqual(tensors["blk.1.attn_k.weight"][0], [KEY_HEADS * HEAD, WIDTH])
        self.assertEqual(tensors["blk.1.ffn_down.weight"][0], [WIDTH, INNER])
        vocabulary = len(metadata["tokenizer.ggml.tokens"])
        self.assertEqual(tensors["output.weight"][0], [vocabulary, WIDTH])
        for key, value in {"general.architecture": "llama", "general.name": "untied", "general.file_type": 0,
                           "llama.vocab_size": vocabulary, "llama.context_length": 64, "llama.embedding_length": WIDTH,
                           "llama.block_count": LAYERS, "llama.feed_forward_length": INNER,
                           "llama.attention.head_count": HEADS, "llama.attention.head_count_kv": KEY_HEADS,
                           "llama.attention.key_length": HEAD, "llama.attention.value_length": HEAD,
                           "llama.rope.dimension_count": HEAD, "llama.rope.freq_base": 50000.0,
                           "tokenizer.ggml.model": "llama", "tokenizer.ggml.add_bos_token": False}.items():
            self.assertEqual(metadata[key], value, key)
        self.assertAlmostEqual(metadata["llama.attention.layer_norm_rms_epsilon"], 1e-6, 12)
        self.assertNotIn("llama.rope.scaling.type", metadata)

    def test_smaller_types_are_within_their_steps(self):
        expected = expected_tensors(self.tied, tied=True, scale=1.0)
        for name, kind, number in (("f16", F16, 1), ("q8_0", Q8_0, 7), ("q4_0", Q4_0, 2)):
            metadata, tensors = self.exported(self.tied, "--type", name)
            self.assert_holds(tensors, expected, kind)
            self.assertEqual(metadata["general.file_type"], number)
            self.assertEqual(metadata.get("general.quantization_version"), None if kind == F16 else 2)
            self.assertTrue(metadata["tokenizer.ggml.add_bos_token"])
        self.assert_holds(self.exported(self.tied)[1], expected, F16)

    def test_a_tied_table_with_a_factor_is_written_twice(self):
        model = make_model(self.path / "scaled", model__tie="output")
        self.assert_holds(self.exported(model, "--type", "f32")[1],
                          expected_tensors(model, tied=True, scale=math.sqrt(WIDTH)), F32)

    def test_a_model_of_the_gpt2_form_keeps_its_biases_and_positions(self):
        model = make_model(self.path / "gpt2", GPT2)
        metadata, tensors = self.exported(model, "--type", "f32")
        self.assert_holds(tensors, expected_gpt2_tensors(model), F32)
        self.assertEqual(tensors["blk.1.attn_qkv.weight"][0], [3 * WIDTH, WIDTH])
        self.assertEqual(tensors["position_embd.weight"][0], [64, WIDTH])
        for key, value in {"general.architecture": "gpt2", "gpt2.context_length": 64, "gpt2.embedding_length": WIDTH,
                           "gpt2.block_count": LAYERS, "gpt2.feed_forward_length": INNER,
                           "gpt2.attention.head_count": HEADS, "tokenizer.ggml.model": "llama"}.items():
            self.assertEqual(metadata[key], value, key)
        self.assertAlmostEqual(metadata["gpt2.attention.layer_norm_epsilon"], 1e-6, 12)
        _, tensors = self.exported(model, "--type", "q8_0")
        self.assertEqual({tensors[name][1] for name in ("position_embd.weight", "blk.0.attn_qkv.bias")}, {F32})
        self.assertEqual(tensors["blk.0.attn_qkv.weight"][1], Q8_0)

    def test_what_is_exported_is_imported_as_it_was(self):
        text = "A dog runs.\n\n  in the park\n"
        for model in (self.tied, self.untied, make_model(self.path / "gpt2", GPT2)):
            file, imported = self.path / f"{model.name}.gguf", self.path / f"{model.name}-imported"
            self.assertEqual(heed("export", "--model", model, "--out", file, "--type", "f32").returncode, 0)
            self.assertEqual(heed("import", file, "--out", imported).returncode, 0)
            before, after = stored_weights(model), stored_weights(imported)
            self.assertEqual(set(after), set(before))
            scale = math.sqrt(WIDTH) if model == self.untied else 1.0
            for name, values in before.items():
                factor = scale if name == "embedding.tokens" else 1.0
                self.assertEqual(after[name], [struct.unpack("<f", struct.pack("<f", x * factor))[0] for x in values], name)
            results = [heed("perplexity", "--model", path, "--precision", "f32", "--json", "--tokens", text=text).stdout
                       for path in (model, file, imported)]
            scores = [[token["nats"] for token in json.loads(result)["each"]] for result in results]
            self.assertEqual([scores[0]] * 2, scores[1:])
            self.assertGreater(len(scores[0]), 10)

    # Other programs' scales need not be what heed would choose for these integers: one block is changed, and the first
    # two values that it stands for are given.
    def assert_blocks_come_back(self, kind, block, packed_as, values):
        for model in (self.tied, self.untied, make_model(self.path / "gpt2", GPT2)):
            file, imported = self.path / "first.gguf", self.path / f"{model.name}-imported-{kind}"
            self.assertEqual(heed("export", "--model", model, "--out", file, "--type", kind).returncode, 0)
            whole, (_, tensors) = file.read_bytes(), read_gguf(file)
            _, _, stored, steps = tensors["blk.0.ffn_down.weight"]
            begin = whole.rindex(packed_as(steps[0], [round(x / steps[0]) for x in stored[:32]]))
            file.write_bytes(whole[:begin] + block + whole[begin + len(block):])
            self.assertEqual(heed("import", file, "--out", imported).returncode, 0)
            expected = read_gguf(file)[1]
            self.assertEqual(expected["blk.0.ffn_down.weight"][2][:2], values)
            for source in (file, imported):
                _, written = self.exported(source, "--type", kind)
                self.assertEqual(set(written), set(expected))
                for name, tensor in expected.items():
                    scaled = name == "token_embd.weight" and model == self.untied  # a factor that heed keeps apart
                    if not scaled:
                        self.assertEqual(written[name], tensor, name)

    def test_blocks_of_eight_bits_are_written_as_they_were_read(self):
        packed_as = lambda scale, integers: struct.pack("<e32b", scale, *integers)
        self.assert_blocks_come_back("q8_0", packed_as(0.5, [-128] + [3] * 31), packed_as, [-64.0, 1.5])

    def test_blocks_of_four_bits_are_written_as_they_were_read(self):
        def packed_as(scale, integers):
            if 8 in integers:  # the largest magnitude is that of -8
                scale, integers = -scale, [-x for x in integers]
            return struct.pack("<e16B", scale, *[low + 8 | high + 8 << 4 for low, high in zip(integers, integers[16:])])
        self.assert_blocks_come_back("q4_0", packed_as(0.5, [-5] + [3] * 31), packed_as, [-2.5, 1.5])

    def test_the_same_model_gives_the_same_file(self):
        self.exported(self.tied, "--type", "q8_0")
        first = (self.path / "model.gguf").read_bytes()
        self.exported(self.tied, "--type", "q8_0")
        self.assertEqual((self.path / "model.gguf").read_bytes(), first)

    def test_what_does_not_fit_is_refused_in_one_line(self):
        out = self.path / "model.gguf"
        refuse = lambda model, *options, mentions: self.assert_refused(
            "export", "--model", model, "--out", out, *options, mentions=mentions)
        refuse(self.path / "none", mentions=("no such model directory",))
        refuse(make_model(self.path / "unordered", positions="none"), mentions=('positions = "none"', "Llama form", 'needs "rotary"'))
        refuse(make_model(self.path / "learned", positions="learned"), mentions=('norm = "rms"', "GPT-2 form", 'needs "layer"'))
        refuse(make_model(self.path / "characters", kind="char", vocabulary=0), mentions=("of kind char", "kind bpe alone"))
        subprocess.run([MAKE_MODEL, self.path / "translator"], check=True)
        refuse(self.path / "translator", mentions=("holds an encoder-decoder",))
        odd = make_model(self.path / "odd", inner=40)
        refuse(odd, "--type", "q8_0", mentions=("feed_forward.output.weight: has rows of 40", "blocks of 32", "as f16"))
        refuse(self.tied, "--type", "q5_0", mentions=("'q5_0' is not one of f32",))
        heed("quantize", "--model", self.tied, "--out", self.path / "small")
        refuse(self.path / "small", mentions=("quantized weights", "name the model that they were made from"))
        heed("quantize", "--model", self.tied, "--out", self.path / "smaller", "--type", "int4")
        refuse(self.path / "smaller", "--type", "q8_0", mentions=("quantized weights",))
        heads = make_model(self.path / "heads")
        config = json.loads((heads / "config.json").read_text())
        config["model"]["heads"] //= 2
        (heads / "config.json").write_text(json.dumps(config))
        refuse(heads, mentions=("config.json", "not the one whose weights"))
        self.assertFalse(out.exists())
        self.assert_refused("export", "--model", self.tied, "--out", self.path / "model.bin", mentions=("ends in .gguf",))
        self.assert_refused("export", "--model", self.tied, "--out", self.path / "none" / "model.gguf", mentions=("none",))

    def test_a_damaged_model_is_refused(self):
        model = make_model(self.path / "damaged")
        weights = bytearray((model / "model.safetensors").read_bytes())
        weights[-5] ^= 1
        (model / "model.safetensors").write_bytes(weights)
        self.assert_refused("export", "--model", model, "--out", self.path / "model.gguf", mentions=("model.safetensors",))


if __name__ == "__main__":
    unittest.main()
