"""heed export --format huggingface: what it writes of a model that heed made gives, read by the family's published
definition in PyTorch (golden/*.py), the log-probabilities and embeddings that heed gives.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import torch

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "golden"), str(HERE.parent / "cli")]
import decoders  # noqa: E402
import decoders_other  # noqa: E402
import encoder_decoders  # noqa: E402
import encoders  # noqa: E402
from heed_script import heed  # noqa: E402
from parts import Reading  # noqa: E402
from test_export_directories import FORMS  # noqa: E402

SENTENCES = ("The man sees the dog.", "A cat sleeps in the garden")
LLAMA = FORMS["llama"]
MORE_FORMS = {
    "mistral": LLAMA | {"model.attention": '["local:8"]'},
    "qwen2": LLAMA | {"model.attention_bias": "inputs"},
    "qwen3": LLAMA | {"model.qk_norm": "head"},
    "gemma": LLAMA | {"model.activation": "gelu-tanh", "model.embedding_scale": "sqrt-model", "model.tie": "output",
                      "model.norm_gain": "plus-one"},
    "gpt_neox": LLAMA | {"model.branches": "parallel-own-norms", "model.norm": "layer", "model.activation": "gelu",
                         "model.gated": "false", "model.bias": "true", "model.key_value_heads": 4, "model.rotary_width": 4},
    "stablelm": LLAMA | {"model.norm": "layer", "model.rotary_width": 4, "model.norm_bias": "all"},
    "opt": FORMS["gpt2"] | {"model.activation": "relu", "model.position_offset": 2},
    "roberta": FORMS["bert"] | {"model.token_types": 1, "model.position_offset": 1},
}
DEFINITIONS = {"llama": decoders.llama, "mistral": decoders.llama, "qwen2": decoders.llama, "qwen3": decoders.llama,
               "gemma": decoders_other.gemma, "gpt_neox": decoders_other.gpt_neox, "stablelm": decoders_other.stablelm,
               "opt": decoders_other.opt, "gpt2": decoders.gpt2, "marian": encoder_decoders.marian,
               "bart": encoder_decoders.bart, "mbart": encoder_decoders.bart, "m2m_100": encoder_decoders.bart,
               "t5": encoder_decoders.t5}
# f32 against double, of the largest value.
TOLERANCE = 1e-5
failures = []


class Exported:
    """A directory's weights as the definitions ask for them: each must be there, in the shape that they expect."""

    def __init__(self, folder):
        self.inputs, self.stored, self.asked = lambda x: x, {}, set()
        data = (folder / "model.safetensors").read_bytes()
        size = struct.unpack_from("<Q", data)[0]
        for name, entry in json.loads(data[8:8 + size]).items():
            if name != "__metadata__":
                begin, end = (8 + size + offset for offset in entry["data_offsets"])
                self.stored[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).view(entry["shape"])
        # Where definitions that draw weights write zeros.
        self.tensors = {name: tensor.clone() for name, tensor in self.stored.items()}

    def __call__(self, name, *shape, **_):
        self.asked.add(name)
        assert tuple(self.stored[name].shape) == shape, f"{name} is {tuple(self.stored[name].shape)}, not {shape}"
        return self.stored[name].double()


def ids_of(tokenizer, text):
    return [int(id) for id in heed("tokenizer", "encode", "--model", tokenizer, "--ids", text=text + "\n").split()]


def log_probability(logits, targets):
    return float(torch.log_softmax(logits, -1)[torch.arange(len(targets)), targets].sum())


def scores(model, texts, folder):
    """heed's: the log-probability and the number of tokens of each line."""
    words = []
    for option, lines in texts.items():
        path = folder / option
        path.write_text("".join(line + "\n" for line in lines))
        words += ["--" + option, path]
    return [(float(line.split()[0]), int(line.split()[1]))
            for line in heed("score", "--model", model, "--precision", "f32", *words).splitlines()]


def compare(what, found, expected, largest):
    if not abs(found - expected) <= TOLERANCE * largest:
        failures.append(f"{what}: {found}, by the definition {expected}")


def check_decoder(form, model, config, weights, folder):
    for text, (found, count) in zip(SENTENCES, scores(model, {"texts": SENTENCES}, folder)):
        ids = ids_of(model / "text.tokenizer", text)
        whole = [config["bos_token_id"], *ids] if count == len(ids) else ids
        assert count == len(whole) - 1, f"{count} tokens of {ids}"
        logits = DEFINITIONS[form](config, weights, Reading(), whole)
        expected = log_probability(logits[:-1], whole[1:])
        compare(f"{form} {text!r}", found, expected, abs(expected))


def check_translator(form, model, config, weights, folder):
    texts = {"source": SENTENCES, "target": SENTENCES[::-1]}
    for source, target, (found, count) in zip(*texts.values(), scores(model, texts, folder)):
        shared = model / "shared.tokenizer"
        sides = [ids_of(shared if shared.exists() else model / name, text)
                 for name, text in (("source.tokenizer", source), ("target.tokenizer", target))]
        end = config["eos_token_id"]
        written = [*sides[1], end]
        assert count == len(written)
        _, logits = DEFINITIONS[form](config, weights, Reading(), [*sides[0], end],
                                      [config["decoder_start_token_id"], *sides[1]])
        expected = log_probability(logits, written)
        compare(f"{form} {source!r}", found, expected, abs(expected))


def check_encoder(form, model, config, weights, folder):
    lines = heed("embed", "--model", model, "--precision", "f32", text="".join(line + "\n" for line in SENTENCES)).splitlines()
    for text, line in zip(SENTENCES, lines):
        ids = [config["bos_token_id"], *ids_of(model / "text.tokenizer", text), config["eos_token_id"]]
        expected = encoders.bert_hidden(config, weights, Reading(), ids, [0] * len(ids), "").mean(0)
        for k, found in enumerate(json.loads(line)):
            compare(f"{form} {text!r}, {k}", found, float(expected[k]), float(expected.abs().max()))


def check(form):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, exported = folder / "model", folder / "exported"
        settings = FORMS.get(form) or MORE_FORMS[form]
        subprocess.run([os.environ["HEED_MAKE_MODEL"], model, *(f"{key}={value}" for key, value in settings.items())], check=True)
        heed("export", "--model", model, "--format", "huggingface", "--out", exported)
        config, weights = json.loads((exported / "config.json").read_text()), Exported(exported)
        assert config["model_type"] == form, config["model_type"]
        kind = {"encoder": check_encoder, "causal-lm": check_decoder}.get(settings.get("architecture"), check_translator)
        kind(form, model, config, weights, folder)
        unread = set(weights.stored) - weights.asked
        if unread:
            failures.append(f"{form}: no definition reads {sorted(unread)}")


for form in (*FORMS, *MORE_FORMS):
    try:
        check(form)
    except (AssertionError, KeyError, RuntimeError) as error:
        failures.append(f"{form}: {type(error).__name__} {error}")
print("\n".join(failures) or f"{len(FORMS) + len(MORE_FORMS)} forms agree")
sys.exit(1 if failures else 0)
