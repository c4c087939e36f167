#!/usr/bin/python3
"""Times a recipe's training in eager PyTorch on the CPU, on the recipe's own text.

The peer of `heed train`: takes a run that `heed train` began (its model, tokenizers and text), and trains the same model
with dropout of the same size in the same places. Translation goes through padded batches of pairs of like length, each of
as many target tokens as the recipe's; a language model of characters through windows drawn from its text. Speed counts
real target tokens; padding is reported beside it.
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

# What the models of torch_transformer.py are, by architecture; what a recipe leaves to this peer.
PEER_HAS = {
    "seq2seq": {
        "model": {"activation": "relu", "positions": "sinusoidal", "norm": "layer", "norm_placement": "pre", "tie": "all"},
        "tokenizer": {"shared": True},
    },
    "causal-lm": {
        "model": {"activation": "gelu", "positions": "learned", "norm": "layer", "norm_placement": "pre", "tie": "output"},
        "tokenizer": {"kind": "char"},
        "data": {"order": "windows"},
    },
}

OPTIMIZERS = {"adam": "Adam", "adamw": "AdamW"}


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
    architecture, optimizer = recipe["model"]["architecture"], recipe["optimizer"]["kind"]
    if architecture not in PEER_HAS:
        fail(f"{run}/recipe.toml: this peer has no model of architecture {architecture}")
    if optimizer not in OPTIMIZERS:
        fail(f"{run}/recipe.toml: optimizer.kind is {optimizer}, but this peer only knows {', '.join(OPTIMIZERS)}")
    for table, settings in PEER_HAS[architecture].items():
        for key, value in settings.items():
            if recipe[table][key] != value:
                fail(f"{run}/recipe.toml: {table}.{key} is {recipe[table][key]}, but this peer only knows {value}")
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
        bias=model["bias"],
        dropout=Dropout(*(model[f"{name}_dropout"] for name in names)),
    )


class Pairs:
    """Pairs of sentences, padded to the longest of their batch."""

    def __init__(self, arguments, recipe):
        self.heads = recipe["model"]["heads"]
        self.tokenizer = [arguments.heed, "tokenizer"], os.path.join(arguments.run, "shared.tokenizer")
        self.special = self.special_ids()
        data = recipe["data"]
        sides = [self.encode(data[f"train_{side}"]) for side in ("source", "target")]
        pairs = [pair for pair in zip(*sides) if pair[0] and pair[1] and max(map(len, pair)) <= data["max_length"]]
        self.batches = batches_of(pairs, data["batch_target_tokens"])
        random.Random(1).shuffle(self.batches)

    def encode(self, files):
        heed, tokenizer = self.tokenizer
        sentences = []
        for path in files:
            with open(path, "rb") as text:
                command = [*heed, "encode", "--model", tokenizer, "--ids"]
                done = subprocess.run(command, stdin=text, stdout=subprocess.PIPE, text=True, check=True)
            sentences += [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
        return sentences

    def special_ids(self):
        heed, tokenizer = self.tokenizer
        shown = subprocess.run([*heed, "inspect", "--model", tokenizer], stdout=subprocess.PIPE, text=True, check=True)
        rows = [line.split() for line in shown.stdout.splitlines()]
        return {row[0]: int(row[1]) for row in rows if row and row[0] in ("bos", "eos")}

    def step(self, torch, index):
        """Inputs and targets of a step, how many of the targets are real, and which share of all positions."""
        from torch_optimization import PADDING

        batch = self.batches[index % len(self.batches)]
        bos, eos = self.special["bos"], self.special["eos"]
        sources = [source + [eos] for source, _ in batch]
        source = padded(torch, sources, eos)
        fed = padded(torch, [[bos] + target for _, target in batch], bos)
        expected = padded(torch, [target + [eos] for _, target in batch], PADDING)
        lengths = torch.tensor([len(sequence) for sequence in sources])
        beyond = torch.arange(source.shape[0]).unsqueeze(0) >= lengths.unsqueeze(1)
        mask = torch.zeros(beyond.shape).masked_fill_(beyond, float("-inf")).repeat_interleave(self.heads, 0).unsqueeze(1)
        real = int((expected != PADDING).sum())
        share = (real + int(lengths.sum())) / (expected.numel() + source.numel())
        return (source, fed, mask), expected, real, share


def batches_of(pairs, target_tokens):
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


class Windows:
    """Windows of a text by characters, drawn evenly."""

    def __init__(self, _, recipe):
        data = recipe["data"]
        self.context, self.sequences = data["context"], data["batch_sequences"]
        text = ""
        for path in data["train"]:
            with open(path, encoding="utf-8") as file:
                text += file.read()
        ids = {character: index for index, character in enumerate(sorted(set(text)))}
        self.tokens = [ids[character] for character in text[: round(len(text) * (1.0 - data["validation_share"]))]]
        self.on_tensor = None

    def step(self, torch, _):
        if self.on_tensor is None:
            self.on_tensor = torch.tensor(self.tokens)
        starts = torch.randint(len(self.tokens) - self.context, (self.sequences,))
        rows = starts.unsqueeze(0) + torch.arange(self.context).unsqueeze(1)
        return (self.on_tensor[rows],), self.on_tensor[rows + 1], rows.numel(), 1.0


def measure(arguments):
    import torch
    from torch_optimization import Optimization
    from torch_transformer import LanguageModel, TranslationModel

    setup = prepare(torch, arguments)
    recipe = read_recipe(arguments.run)
    shape = shape_of(recipe)
    translates = recipe["model"]["architecture"] == "seq2seq"
    text = (Pairs if translates else Windows)(arguments, recipe)
    optimizer = recipe["optimizer"]
    optimization = Optimization(
        (TranslationModel if translates else LanguageModel)(shape),
        shape.vocab,
        arguments.precision,
        recipe["training"]["smoothing"],
        getattr(torch.optim, OPTIMIZERS[optimizer["kind"]]),
        lr=1e-4,
        betas=(optimizer["beta1"], optimizer["beta2"]),
        weight_decay=optimizer["weight_decay"],
    )
    seconds, tokens, shares = 0.0, 0, []
    for index in range(arguments.warmup + arguments.steps):
        begin = time.perf_counter()
        inputs, targets, real, share = text.step(torch, index)
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
