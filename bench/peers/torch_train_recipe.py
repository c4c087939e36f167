#!/usr/bin/python3
"""Times a recipe's training in eager PyTorch on the CPU, on the recipe's own text.

The peer of `heed train`: takes a run that `heed train` began (its model, tokenizers and text), and trains the same model
with dropout of the same size at the same places, on padded batches of pairs of like length, each of as many target tokens
as the recipe's. Speed counts real target tokens; padding is reported beside it.
"""

import os
import random
import statistics
import subprocess
import time
import tomllib

from torch_environment import OneLineParser, add_options, count, fail, peak_memory_bytes, prepare, run
from transformer_shape import Dropout, Shape

HERE = os.path.dirname(os.path.abspath(__file__))


def parse_arguments():
    parser = OneLineParser(description="Times a recipe's training in eager PyTorch on the CPU.", allow_abbrev=False)
    parser.add_argument("run", help="the directory that heed train wrote")
    parser.add_argument("--heed", default=os.path.join(HERE, "..", "..", "build", "heed"))
    parser.add_argument("--steps", type=count, default=100)
    parser.add_argument("--warmup", type=count, default=20)
    add_options(parser)
    return parser.parse_args()


def read_recipe(run):
    with open(os.path.join(run, "recipe.toml"), "rb") as file:
        recipe = tomllib.load(file)
    model = recipe["model"]
    peer_has = {"activation": "relu", "positions": "sinusoidal", "norm": "layer", "norm_placement": "pre"}
    for key, value in peer_has.items():
        if model[key] != value:
            fail(f"{run}/recipe.toml: model.{key} is {model[key]}, but this peer knows {value} alone")
    if model["tie"] != "all" or not recipe["tokenizer"]["shared"]:
        fail(f"{run}/recipe.toml: this peer shares one matrix among all embeddings and the output")
    return recipe


def shape_of(recipe):
    model = recipe["model"]
    names = ("embedding", "attention", "inner", "branch")
    return Shape(
        model["model"],
        model["inner"],
        model["heads"],
        model["encoder_layers"],
        model["decoder_layers"],
        model["target_vocabulary"],
        model["max_length"],
        tied=True,
        dropout=Dropout(*(model[f"{name}_dropout"] for name in names)),
    )


def encode(arguments, files):
    tokenizer = os.path.join(arguments.run, "shared.tokenizer")
    command = [arguments.heed, "tokenizer", "encode", "--model", tokenizer, "--ids"]
    sentences = []
    for path in files:
        with open(path, "rb") as text:
            done = subprocess.run(command, stdin=text, stdout=subprocess.PIPE, text=True, check=True)
        sentences += [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    return sentences


def special_ids(arguments):
    tokenizer = os.path.join(arguments.run, "shared.tokenizer")
    shown = subprocess.run([arguments.heed, "tokenizer", "inspect", tokenizer], stdout=subprocess.PIPE, text=True, check=True)
    rows = [line.split() for line in shown.stdout.splitlines()]
    return {row[0]: int(row[1]) for row in rows if row and row[0] in ("bos", "eos")}


def batches(pairs, target_tokens):
    """Lists of pairs sorted by length, each of as many target tokens (the end included) as fit."""
    result, tokens = [[]], 0
    for pair in sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0]))):
        more = len(pair[1]) + 1
        if tokens + more > target_tokens:
            result.append([])
            tokens = 0
        result[-1].append(pair)
        tokens += more
    return result


def padded(torch, sequences, filler):
    """[time, sequences]"""
    time_steps = max(map(len, sequences))
    return torch.tensor([sequence + [filler] * (time_steps - len(sequence)) for sequence in sequences]).t().contiguous()


def tensors(torch, batch, ids, heads):
    """Inputs and targets of a step, and how many of the targets, and of all positions, are real."""
    from torch_optimization import PADDING

    bos, eos = ids["bos"], ids["eos"]
    sources = [source + [eos] for source, _ in batch]
    source = padded(torch, sources, eos)
    fed = padded(torch, [[bos] + target for _, target in batch], bos)
    expected = padded(torch, [target + [eos] for _, target in batch], PADDING)
    lengths = torch.tensor([len(sequence) for sequence in sources])
    beyond = torch.arange(source.shape[0]).unsqueeze(0) >= lengths.unsqueeze(1)
    mask = torch.zeros(beyond.shape).masked_fill_(beyond, float("-inf")).repeat_interleave(heads, 0).unsqueeze(1)
    real = int((expected != PADDING).sum())
    share = (real + int(lengths.sum())) / (expected.numel() + source.numel())
    return (source, fed, mask), expected, real, share


def measure(arguments):
    import torch
    from torch_optimization import Optimization
    from torch_transformer import TranslationModel

    setup = prepare(torch, arguments)
    recipe = read_recipe(arguments.run)
    shape = shape_of(recipe)
    ids = special_ids(arguments)
    max_length = recipe["data"]["max_length"]
    sides = [encode(arguments, recipe["data"][f"train_{side}"]) for side in ("source", "target")]
    pairs = [pair for pair in zip(*sides) if pair[0] and pair[1] and max(map(len, pair)) <= max_length]
    order = batches(pairs, recipe["data"]["batch_target_tokens"])
    random.Random(1).shuffle(order)
    order = (order * (1 + (arguments.warmup + arguments.steps) // len(order)))[: arguments.warmup + arguments.steps]

    optimizer = recipe["optimizer"]
    optimization = Optimization(
        TranslationModel(shape),
        shape.vocab,
        arguments.precision,
        torch.optim.AdamW if optimizer["kind"] == "adamw" else torch.optim.Adam,
        lr=1e-4,
        betas=(optimizer["beta1"], optimizer["beta2"]),
        weight_decay=optimizer["weight_decay"],
    )
    seconds, tokens, shares = 0.0, 0, []
    for index, batch in enumerate(order):
        begin = time.perf_counter()
        inputs, targets, real, share = tensors(torch, batch, ids, shape.heads)
        optimization.step(inputs, targets)
        if index >= arguments.warmup:
            seconds += time.perf_counter() - begin
            tokens += real
            shares.append(share)
    return setup | {
        "target_tokens_per_second": tokens / seconds,
        "padding_share": 1.0 - statistics.mean(shares),
        "parameters": optimization.count(),
        "peak_memory_bytes": peak_memory_bytes(),
    }


def print_report(result):
    print(f"speed       {result['target_tokens_per_second']:,.0f} real target tokens/s")
    print(f"padding     {100 * result['padding_share']:.1f}% of all positions")


if __name__ == "__main__":
    run(parse_arguments(), measure, print_report)
