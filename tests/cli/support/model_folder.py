"""Makes a model directory with random weights from docs/models/formats.md alone."""

import json
import random
import re
import struct
import subprocess

import safetensors_file
from heed_cli import BINARY, heed

SENTENCES = ["ein hund läuft im park .", "zwei kinder spielen mit einem ball .", "die frau liest ein buch .",
             "ein mann fährt auf einem fahrrad .", "der junge trinkt wasser .", "eine katze schläft auf dem sofa ."]


def make_tokenizer(path, *options, text=None):
    source = path.with_suffix(".text")
    source.write_text("\n".join(text or SENTENCES) + "\n")
    result = heed("tokenizer", "train", "--kind", "word", "--min-count", "1", "--input", source, "--out", path, *options)
    assert result.returncode == 0, result.stderr


def vocabulary_of(path):
    text = subprocess.run([BINARY, "tokenizer", "inspect", "--model", path], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"vocabulary\D+(\d+)", text).group(1))


def make_model(folder, seed=1, tokenizer_options=(), sharpness=1.0, end_bias=0.0, **changes):
    """Returns the number of parameters. `sharpness` scales attention scores, `end_bias` is added to the logit of eos,
    `changes` are keys of [model]."""
    folder.mkdir(parents=True, exist_ok=True)
    for side in ("source", "target"):
        make_tokenizer(folder / f"{side}.tokenizer", *tokenizer_options)
        (folder / f"{side}.text").unlink()
    keys = {"architecture": "seq2seq", "model": 16, "inner": 32, "heads": 2, "encoder_layers": 2, "decoder_layers": 3,
            "max_length": 64, **changes, "source_vocabulary": vocabulary_of(folder / "source.tokenizer"),
            "target_vocabulary": vocabulary_of(folder / "target.tokenizer")}
    recipe = folder / "shape.toml"
    recipe.write_text("[model]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))
    printed = heed("inspect", recipe).stdout
    recipe.unlink()
    settings, table = printed.split("\n\n")
    model = {key: json.loads(value) for key, value in re.findall(r"(?m)^(\w+) = (.*)$", settings)}
    (folder / "config.json").write_text(json.dumps({
        "format": "heed-model", "version": 1, "model": model,
        "tokenizers": {"source": "source.tokenizer", "target": "target.tokenizer"}}))
    draw, tensors = random.Random(seed), {}
    for name, extents in re.findall(r"(?m)^(\S+)\s+\[([\d, ]+)\]", table):
        shape = [int(extent) for extent in extents.split(", ")]
        count = 1
        for extent in shape:
            count *= extent
        if len(shape) == 1:
            tensors[name] = (shape, [1.0 if "norm" in name and name.endswith("gain") else 0.0] * count)
        else:
            scale = sharpness if name.endswith(("query.weight", "projection.weight")) else 1.0
            tensors[name] = (shape, [draw.gauss(0.0, scale * shape[1] ** -0.5) for _ in range(count)])
    tensors["output.bias"][1][3] = end_bias
    safetensors_file.write(folder / "model.safetensors", {
        name: ("F32", shape, struct.pack(f"<{len(values)}f", *values)) for name, (shape, values) in tensors.items()})
    return sum(len(values) for _, values in tensors.values())
