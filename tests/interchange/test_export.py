"""heed export writes Hugging Face's directories: what was imported comes out again.

Each golden model is imported, exported and compared with the original: the same tensors by name, type, shape and bytes,
and the settings that say what the model computes. What heed does not keep is listed here. What was exported gives what
the imported model gives, bit for bit.
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from heed_script import heed

GOLDEN = pathlib.Path(__file__).parent / "golden"
LANGUAGES = {"m2m-100": ("--target-language", "de"), "nllb": ("--target-language", "deu_Latn"),
             "mbart-25": ("--target-language", "de_DE"), "mbart-50": ("--target-language", "de_DE")}
# Tensors that need not come back, since no weight of heed's has them: buffers, positions that are computed, poolers that
# no head reads, second heads.
UNKEPT = ("position_ids", "attn.bias", "masked_bias", "inv_freq", "pooler.", "embed_positions.weight", "seq_relationship",
          "attention.bias", "sop_classifier",
          "EncDecAttention.relative_attention_bias")
# Old files' names, which come back as the library now has them.
RENAMED = {"bert-old": (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")),
           "gpt2-old": (("", "transformer."),)}
# Settings that may come back in other words; outputs tell that they mean the same.
NOT_COMPARED = ("torch_dtype", "transformers_version", "architectures", "rope_scaling", "rope_parameters", "layer_types",
                "max_position_embeddings", "hidden_act", "activation_function", "eos_token_id")
failures = []


def tensors_in(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for name, entry in header.items()}


def all_tensors(folder):
    found = {}
    for path in sorted(folder.glob("*.safetensors")) + sorted(folder.glob("*/model.safetensors")):
        prefix = "" if path.parent == folder else path.parent.name + "."
        found.update({prefix + name: tensor for name, tensor in tensors_in(path).items()})
    return found


def renamed(model, name):
    for old, new in RENAMED.get(model, ()):
        name = name.replace(old, new, 1) if old in name else name
    return name


def is_same(model, name, expected, found):
    """Positions after the longest text that sentence-transformers takes are left out."""
    if model.startswith("sentence-") and name.endswith("position_embeddings.weight"):
        return expected[0] == found[0] and expected[2].startswith(found[2])
    return expected == found


def compare_tensors(model, original, exported):
    expected = {renamed(model, name): tensor for name, tensor in all_tensors(original).items()}
    if not expected:
        return  # a pickle
    found = all_tensors(exported)
    missing = sorted(name for name in set(expected) - set(found) if not any(part in name for part in UNKEPT))
    if missing or set(found) - set(expected):
        failures.append(f"{model}: tensors {sorted(set(found) - set(expected))} for {missing}")
    for name in sorted(set(expected) & set(found)):
        if not is_same(model, name, expected[name], found[name]):
            failures.append(f"{model}: {name} is {found[name][:2]}, not {expected[name][:2]}, or has other bytes")


def compare_settings(model, original, exported):
    a, b = (json.loads((folder / "config.json").read_text()) for folder in (original, exported))
    if not a.get("use_sliding_window", True):
        a.pop("max_window_layers", None)  # says nothing then
    if "partial_rotary_factor" in (a.get("rope_parameters") or {}):
        a["partial_rotary_factor"] = a["rope_parameters"]["partial_rotary_factor"]
    for key in sorted(a.keys() & b.keys()):
        if a[key] != b[key] and key not in NOT_COMPARED and a[key] is not None and b[key] is not None:
            failures.append(f"{model}: \"{key}\" is {b[key]!r}, not {a[key]!r}")


def compare_decoding(model, own, again):
    """How the model is decoded, and what it writes beside its texts, as heed keeps both."""
    a, b = (json.loads((folder / "config.json").read_text()) for folder in (own, again))
    for key in ("decoding", "marks", "prompts"):
        if a.get(key) != b.get(key):
            failures.append(f"{model}: \"{key}\" is {b.get(key)!r} after the export, {a.get(key)!r} before")


def outputs(group, name, model):
    common = ("--precision", "f32", "--threads", "1")
    if group == "decoders":
        return heed("generate", "--model", model, "--prompt", "the cat", "--temperature", "0", "--max-tokens", "8", "--json",
                    "--token-scores", *common)
    if group == "encoder_decoders":
        return heed("translate", "--model", model, "--beam", "4", "--scores", "--token-scores", *LANGUAGES.get(name, ()),
                    *common, text="the cat sat\non the mat\n")
    return heed("embed", "--model", model, *common, text="the cat sat\non the mat\n")


def round_trip(original):
    group, name = original.parent.name, original.name
    with tempfile.TemporaryDirectory() as folder:
        own, exported, again = (pathlib.Path(folder) / name for name in ("own", "exported", "again"))
        heed("import", original, "--out", own)
        heed("export", "--model", own, "--format", "huggingface", "--out", exported)
        heed("import", exported, "--out", again)
        compare_decoding(name, own, again)
        compare_tensors(name, original, exported)
        compare_settings(name, original, exported)
        first, second = outputs(group, name, own), outputs(group, name, exported)
        if first != second:
            failures.append(f"{name}: gives {second!r} after the export, {first!r} before")


def without_head(path):
    """The safetensors file without its output projection."""
    tensors = tensors_in(path)
    header, data = {}, b""
    for name, (kind, shape, content) in tensors.items():
        if name != "lm_head.weight":
            header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
            data += content
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return len(tensors) - len(header)


def embedder_round_trip():
    """A language model that embeds texts, with its head and without, is exported with its modules."""
    for name, lacks_head in (("qwen3", False), ("llama", True)):
        with tempfile.TemporaryDirectory() as folder:
            original, own, exported, again = (pathlib.Path(folder) / part for part in ("original", "own", "exported", "again"))
            shutil.copytree(GOLDEN / "decoders" / name, original)
            assert without_head(original / "model.safetensors") == (1 if lacks_head else 0)
            modules = [{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "1_Pooling"},
                       {"type": "a.Normalize", "path": "2_Normalize"}]
            (original / "modules.json").write_text(json.dumps(modules))
            (original / "1_Pooling").mkdir()
            (original / "1_Pooling" / "config.json").write_text('{"pooling_mode_lasttoken": true}')
            (original / "config_sentence_transformers.json").write_text(
                '{"prompts": {"query": "on "}, "default_prompt_name": "query"}')
            heed("import", original, "--out", own)
            heed("export", "--model", own, "--format", "huggingface", "--out", exported)
            heed("import", exported, "--out", again)
            compare_decoding(name, own, again)
            expected = heed("embed", "--model", own, "--precision", "f32", text="the cat\n")
            for model in exported, again:
                if heed("embed", "--model", model, "--precision", "f32", text="the cat\n") != expected:
                    failures.append(f"{name} with modules: another embedding after the export")
            writes = subprocess.run([os.environ["HEED_BINARY"], "generate", "--model", exported, "--prompt", "the"], capture_output=True)
            if (writes.returncode == 0) == lacks_head:
                failures.append(f"{name} with modules: exit status {writes.returncode} of heed generate after the export")


def variables_in(path):
    """The variables of a CTranslate2 file as (shape, bytes), and its aliases, from the format's description alone."""
    data, at = path.read_bytes(), 0

    def take(kind):
        nonlocal at
        value, = struct.unpack_from("<" + kind, data, at)
        at += struct.calcsize(kind)
        return value

    def name():
        nonlocal at
        size = take("H")
        at += size
        return data[at - size:at - 1].decode()

    version, _, _ = take("I"), name(), take("I")
    found = {}
    for _ in range(take("I")):
        variable, shape = name(), [take("I") for _ in range(take("B"))]
        first, count = take("B"), take("I")
        size = count if version >= 4 else count * first
        found[variable] = (shape, data[at:at + size])
        at += size
    aliases = {name(): name() for _ in range(take("I"))} if version >= 3 else {}
    assert at == len(data)
    return found | {alias: found[variable] for alias, variable in aliases.items()}


def ctranslate2_round_trip():
    """The published model's variables come back in the newest version, and it gives the same."""
    data = pathlib.Path(os.environ.get("HEED_DATA", pathlib.Path(__file__).parents[3] / "shared" / "data"))
    original = data / "ct2-transliteration"
    if not original.exists():
        print(f"left out: there is no {original}")
        return
    with tempfile.TemporaryDirectory() as folder:
        own, exported = pathlib.Path(folder) / "own", pathlib.Path(folder) / "exported"
        heed("import", original, "--out", own)
        heed("export", "--model", own, "--format", "ctranslate2", "--out", exported)
        expected, found = variables_in(original / "model.bin"), variables_in(exported / "model.bin")
        expected = {name.replace("encoder/embeddings/", "encoder/embeddings_0/"): variable
                    for name, variable in expected.items()}
        for name, variable in expected.items():
            if variable[0] and found.get(name) != variable:
                failures.append(f"ct2-transliteration: '{name}' is not as it was")
        more = [name for name in found.keys() - expected.keys() if found[name][0]]
        if more:
            failures.append(f"ct2-transliteration: {more} are new")
        line = "\u0622 \u062a \u0632 \u0645 \u0648 \u0646\n"
        first, second = (heed("translate", "--model", model, "--precision", "f32", "--scores", text=line)
                         for model in (original, exported))
        if first != second:
            failures.append(f"ct2-transliteration: gives {second!r}, not {first!r}")


def gguf_round_trip():
    """Scalings of rotary positions, the chat template and sampling defaults come back from a GGUF file."""
    sampling = {"do_sample": True, "temperature": 0.75, "top_k": 20, "top_p": 0.5, "min_p": 0.125, "repetition_penalty": 1.25}
    chat = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    for name in ("llama", "qwen2-yarn", "smollm"):
        with tempfile.TemporaryDirectory() as folder:
            original, own, again = (pathlib.Path(folder) / part for part in ("original", "own", "again"))
            file = pathlib.Path(folder) / "model.gguf"
            shutil.copytree(GOLDEN / "decoders" / name, original)
            (original / "generation_config.json").write_text(json.dumps(sampling))
            (original / "chat_template.jinja").write_text(chat)
            heed("import", original, "--out", own)
            heed("export", "--model", own, "--out", file, "--type", "f32")
            heed("import", file, "--out", again)
            a, b = (json.loads((model / "config.json").read_text())["decoding"] for model in (own, again))
            if a != b or not a:
                failures.append(f"{name} as GGUF: decoded with {b}, not {a}")
            if json.loads((again / "tokenizer_config.json").read_text()).get("chat_template") != chat:
                failures.append(f"{name} as GGUF: another chat template")
            # More tokens than the scalings' turns leave as they are.
            text = "the cat sat on the mat " * 12 + "\n"
            first, second = (json.loads(heed("perplexity", "--model", model, "--precision", "f32", "--json", text=text))
                             for model in (original, file))
            if abs(first["perplexity"] - second["perplexity"]) > 1e-4 * first["perplexity"]:
                failures.append(f"{name} as GGUF: {second}, not {first}")


if __name__ == "__main__":
    for group in ("decoders", "encoder_decoders", "encoders"):
        for path in sorted([*(GOLDEN / group).glob("*/config.json"), *(GOLDEN / "original" / group).glob("*/config.json")]):
            if len(sys.argv) > 1 and path.parent.name not in sys.argv[1:]:
                continue
            try:
                round_trip(path.parent)
            except RuntimeError as error:
                failures.append(f"{path.parent.relative_to(GOLDEN)}: {error}")
    if len(sys.argv) == 1:
        ctranslate2_round_trip()
        gguf_round_trip()
        embedder_round_trip()
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)
