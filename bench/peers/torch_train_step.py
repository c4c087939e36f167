#!/usr/bin/python3
"""Times one whole optimizer step of a Transformer in eager PyTorch on the CPU.

The peer of `heed bench train`: the same shapes, on random tokens, with everything that a training
step does (forward, backward, gradient clipping, AdamW, dropout redrawn).
"""

import statistics

from torch_environment import OneLineParser, add_options, count, peak_memory_bytes, prepare, run
from transformer_shape import Shape

LEARNING_RATE = 3e-4
LABEL_SMOOTHING = 0.1

SHAPES = {
    "tiny": Shape(128, 256, 4, 4, 4, 8000, 16),
    "small": Shape(256, 1024, 4, 3, 3, 8000, 16),
    "base": Shape(512, 2048, 8, 6, 6, 8000, 16),
    "gpt-char": Shape(384, 1536, 6, 0, 6, 65, 256),
    "gpt-long": Shape(512, 2048, 8, 0, 6, 8000, 1024),
}
SEQUENCES = {"tiny": 128, "small": 128, "base": 128, "gpt-char": 16, "gpt-long": 4}  # of a batch, all as long


def parse_arguments():
    description = "Times a Transformer's optimizer step in eager PyTorch on the CPU."
    parser = OneLineParser(description=description, allow_abbrev=False)
    parser.add_argument("--shape", required=True, choices=SHAPES)
    add_options(parser)
    parser.add_argument("--steps", type=count, default=7)
    parser.add_argument("--warmup", type=count, default=4)
    return parser.parse_args()


def build(shape, sequences, precision):
    """The optimization, and a function that runs one step on fresh tokens and returns its seconds."""
    import torch
    from torch_optimization import Optimization
    from torch_transformer import LanguageModel, TranslationModel

    translates = shape.encoder_layers > 0
    model = TranslationModel(shape) if translates else LanguageModel(shape)
    optimization = Optimization(model, shape.vocab, precision, LABEL_SMOOTHING, torch.optim.AdamW, lr=LEARNING_RATE)

    def tokens():
        return torch.randint(shape.vocab, (shape.time, sequences))

    def step():
        inputs = [tokens() for _ in range(2 if translates else 1)]
        return optimization.step(inputs, tokens())

    return optimization, step


def measure(arguments):
    import torch

    setup = prepare(torch, arguments)
    shape = SHAPES[arguments.shape]
    sequences = SEQUENCES[arguments.shape]
    optimization, step = build(shape, sequences, arguments.precision)
    for _ in range(arguments.warmup):
        step()
    seconds = statistics.median(step() for _ in range(arguments.steps))
    return setup | {
        "shape": arguments.shape,
        "target_tokens_per_second": sequences * shape.time / seconds,
        "step_seconds_median": seconds,
        "parameters": optimization.count(),
        "peak_memory_bytes": peak_memory_bytes(),
    }


def describe(shape, sequences):
    widths = f"model {shape.model}, inner {shape.inner}, {shape.heads} heads, vocabulary {shape.vocab}"
    if shape.encoder_layers:
        return (
            f"encoder-decoder, {shape.encoder_layers}+{shape.decoder_layers} layers, {widths}, "
            f"batch {sequences} pairs of {shape.time}+{shape.time}"
        )
    return f"decoder-only, {shape.decoder_layers} layers, {widths}, batch {sequences} of {shape.time}"


def print_report(result):
    shape, sequences = SHAPES[result["shape"]], SEQUENCES[result["shape"]]
    tokens = "target tokens/s" if shape.encoder_layers else "tokens/s"
    print(f"shape       {result['shape']}: {describe(shape, sequences)}")
    print(f"step        {result['step_seconds_median'] * 1e3:,.1f} ms (median)")
    print(f"speed       {result['target_tokens_per_second']:,.0f} {tokens}")


if __name__ == "__main__":
    run(parse_arguments(), measure, print_report)
