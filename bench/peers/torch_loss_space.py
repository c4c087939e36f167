#!/usr/bin/python3
"""What training does when its loss is given the wrong numbers.

torch_loss_space.py --heed build/heed --source train.de --target train.en trains the same encoder-decoder three times in
PyTorch, on words: with log-probabilities in a KL divergence that expects them, with probabilities in that divergence,
and with probabilities in a cross-entropy that expects logits. It prints what each run reports as its loss, and the
cross-entropy of its predictions, both as means over the updates since the last line, in nats a token.
"""

import argparse
import collections
import math
import pathlib
import random
import subprocess
import tempfile

import torch
from torch.nn import functional as F

PAD, BOS = 0, 2


def cut(heed, text, folder):
    """The words of a text's lines, with their ends, and the size of the vocabulary."""
    model = folder / (text.name + ".words")
    subprocess.run([heed, "tokenizer", "train", "--kind", "word", "--lowercase", "--vocabulary", "0", "--min-count", "2",
                    "--input", text, "--out", model], check=True, capture_output=True)
    shown = subprocess.run([heed, "tokenizer", "inspect", "--model", model], check=True, capture_output=True, text=True)
    size = next(int(line.split()[1]) for line in shown.stdout.splitlines() if line.startswith("vocabulary"))
    with open(text) as lines:
        ids = subprocess.run([heed, "tokenizer", "encode", "--model", model, "--ids", "--eos"], stdin=lines, check=True,
                             capture_output=True, text=True)
    return [[int(token) for token in line.split()] for line in ids.stdout.splitlines()], size


def entropy_of_words(lines):
    counts = collections.Counter(token for line in lines for token in line)
    total = sum(counts.values())
    return -sum(count / total * math.log(count / total) for count in counts.values())


class Translator(torch.nn.Module):
    def __init__(self, source, target, width, inner, heads, layers):
        super().__init__()
        self.width = width
        self.source = torch.nn.Embedding(source, width)
        self.target = torch.nn.Embedding(target, width)
        self.core = torch.nn.Transformer(width, heads, layers, layers, inner, 0.1, batch_first=True, norm_first=True)
        self.output = torch.nn.Linear(width, target)
        for weight in self.parameters():
            if weight.dim() > 1:
                torch.nn.init.xavier_uniform_(weight)

    def embed(self, table, ids):
        length = ids.shape[1]
        columns = torch.arange(0, self.width, 2)
        angles = torch.arange(length)[:, None] / 10000.0 ** (columns / self.width)
        positions = torch.stack([angles.sin(), angles.cos()], 2).reshape(length, self.width)
        return table(ids) * math.sqrt(self.width) + positions

    def forward(self, source, target):
        ahead = torch.nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        hidden = self.core(self.embed(self.source, source), self.embed(self.target, target), tgt_mask=ahead,
                           src_key_padding_mask=source == PAD, memory_key_padding_mask=source == PAD)
        return self.output(hidden)


def reported_loss(kind, logits, expected, smoothing):
    """Summed over tokens."""
    vocabulary = logits.shape[1]
    if kind == "probabilities into cross-entropy":
        return F.cross_entropy(logits.softmax(1), expected, label_smoothing=smoothing, reduction="sum")
    smoothed = torch.full_like(logits, smoothing / vocabulary)
    smoothed.scatter_add_(1, expected[:, None], torch.full_like(logits[:, :1], 1 - smoothing))
    given = logits.log_softmax(1) if kind == "log-probabilities into KL divergence" else logits.softmax(1)
    return F.kl_div(given, smoothed, reduction="sum")


def padded(lines):
    longest = max(map(len, lines))
    return torch.tensor([line + [PAD] * (longest - len(line)) for line in lines])


def train(kind, pairs, sizes, options):
    torch.manual_seed(1)
    order = random.Random(1)
    model = Translator(*sizes, options.width, options.inner, options.heads, options.layers)
    optimizer = torch.optim.Adam(model.parameters(), options.rate, (0.9, 0.98), 1e-9)
    print(f"{kind}\n{'updates':>8} {'reported':>9} {'cross-entropy':>14}")
    sums = [0.0, 0.0, 0]
    for update in range(1, options.updates + 1):
        sources, targets = zip(*order.sample(pairs, 32))
        target = padded(targets)
        logits = model(padded(sources), padded([[BOS, *line[:-1]] for line in targets]))
        kept = target != PAD
        logits, expected = logits[kept], target[kept]
        loss = reported_loss(kind, logits, expected, 0.1)
        optimizer.zero_grad()
        (loss / len(expected)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        sums[0] += loss.item()
        sums[1] += F.cross_entropy(logits.detach(), expected, reduction="sum").item()
        sums[2] += len(expected)
        if update % options.every == 0:
            print(f"{update:8} {sums[0] / sums[2]:9.3f} {sums[1] / sums[2]:14.3f}", flush=True)
            sums = [0.0, 0.0, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heed", default="build/heed")
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--target", type=pathlib.Path, required=True)
    for name, value in (("updates", 600), ("every", 100), ("width", 256), ("inner", 1024), ("heads", 8), ("layers", 3),
                        ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=1e-4)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        (source, source_size), (target, target_size) = (cut(options.heed, text, pathlib.Path(folder))
                                                        for text in (options.source, options.target))
    print(f"{target_size} words; the entropy of single words is {entropy_of_words(target):.3f}")
    print(f"cross-entropy of probabilities cannot go below ln(V - 1 + e) - 1 = {math.log(target_size - 1 + math.e) - 1:.3f}")
    for kind in ("log-probabilities into KL divergence", "probabilities into KL divergence",
                 "probabilities into cross-entropy"):
        train(kind, list(zip(source, target)), (source_size, target_size), options)


if __name__ == "__main__":
    main()
