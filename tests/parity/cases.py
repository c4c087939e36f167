"""The models, batches and comparisons that the parity tests share."""

# First, because it skips the test where PyTorch is missing.
from parity import (SMOOTHING, Batch, Comparison, Steps, bf16_products, compare_elements, compare_norms, gradients_in,
                    run_heed, run_torch)

import numpy

import formulas
import oracles
from rounding import DEVIATIONS, DEVIATIONS_OF_MANY, TOGETHER, bounds_of

DROPOUT_FREE = {f"{site}_dropout": 0.0 for site in ("embedding", "attention", "inner", "branch")}

SEQ2SEQ_PRE = {
    **DROPOUT_FREE,
    "architecture": "seq2seq", "model": 32, "inner": 64, "heads": 4, "encoder_layers": 2, "decoder_layers": 2,
    "source_vocabulary": 47, "target_vocabulary": 53, "max_length": 16, "activation": "relu", "positions": "sinusoidal",
    "norm_placement": "pre", "final_norm": True, "tie": "none", "output_bias": True, "embedding_scale": "sqrt-model",
}
SEQ2SEQ_POST = {**SEQ2SEQ_PRE, "norm_placement": "post", "final_norm": False}
SEQ2SEQ_GELU = {**SEQ2SEQ_PRE, "activation": "gelu"}
SEQ2SEQ_TIED = {**SEQ2SEQ_POST, "source_vocabulary": 53, "tie": "all", "final_norm": True, "output_bias": False,
                "activation": "gelu", "positions": "learned", "embedding_scale": "none"}
SEQ2SEQ_CAPPED = {**SEQ2SEQ_GELU, "embedding_norm": True, "logit_cap": 1.5}
SEQ2SEQ_LOCAL_ENCODER = {**SEQ2SEQ_GELU, "encoder_attention": ["local:3"], "decoder_attention": ["full"]}
SEQ2SEQ_LOCAL_DECODER = {**SEQ2SEQ_GELU, "encoder_attention": ["full"], "decoder_attention": ["local:2"]}
# Sizes that are not multiples of a vector and go beyond one block of a product's inner dimension.
SEQ2SEQ_WIDE = {**SEQ2SEQ_PRE, "model": 96, "inner": 1100, "target_vocabulary": 1201, "encoder_layers": 1,
                "decoder_layers": 1}
GPT = {
    **DROPOUT_FREE,
    "architecture": "causal-lm", "model": 48, "inner": 192, "heads": 3, "decoder_layers": 2, "target_vocabulary": 53,
    "max_length": 20, "activation": "gelu", "positions": "learned", "norm_placement": "pre", "final_norm": True,
    "tie": "output", "output_bias": False, "embedding_scale": "none",
}
GPT_LONG = {**GPT, "model": 96, "heads": 2, "inner": 1100, "max_length": 150}
GPT_WINDOW = {**GPT, "window": 3, "activation": "gelu-tanh", "tie": "none", "output_bias": True}
GPT_ALIBI = {**GPT_LONG, "positions": "alibi", "heads": 6}
GPT_BIAS = {**GPT_LONG, "positions": "relative-bias", "relative_buckets": 32, "relative_max_distance": 128}
GPT_STRIDED = {**GPT, "attention": ["strided:3"]}
GPT_PATTERNS = {**GPT, "heads": 4, "attention": ["local:3+strided:2", "full"]}
GPT_KEYS = {**GPT_LONG, "positions": "relative-keys", "relative_clip": 16}
GPT_KEYS_VALUES = {**GPT_KEYS, "positions": "relative-keys-values"}
GPT_LINEAR = {**GPT_LONG, "attention": ["linear"]}
GPT_EXP = {**GPT_LINEAR, "linear_feature": "exp"}
GPT_LINEAR_AND_LOCAL = {**GPT_LONG, "attention": ["linear", "local:20"], "positions": "none"}
GPT_OWN_NORMS = {**GPT, "branches": "parallel-own-norms", "inner": [192, 96]}
LLAMA = {
    **DROPOUT_FREE,
    "architecture": "causal-lm", "model": 64, "inner": 172, "heads": 4, "key_value_heads": 2, "head_width": 24,
    "decoder_layers": 2, "target_vocabulary": 53, "max_length": 20, "activation": "silu", "gated": True,
    "positions": "rotary", "rotary_base": 10000.0, "norm": "rms", "epsilon": 1e-6, "norm_placement": "pre",
    "final_norm": True, "bias": False, "tie": "none", "output_bias": False, "embedding_scale": "none",
}
LLAMA_PARTIAL = {**LLAMA, "rotary_width": 10, "rotary_scaling": "linear", "rotary_factor": 4.0}
LLAMA_NTK = {**LLAMA, "rotary_scaling": "ntk", "rotary_factor": 4.0}
LLAMA_YARN = {**LLAMA, "rotary_scaling": "yarn", "rotary_factor": 4.0, "rotary_trained_length": 500, "rotary_base": 500.0}
LLAMA_LONG = {**LLAMA, "model": 96, "inner": 1100, "heads": 6, "key_value_heads": 1, "head_width": 32, "max_length": 150}
QWEN = {**LLAMA, "qk_norm": "head"}
OLMO = {**LLAMA, "qk_norm": "all"}
GEMMA = {**LLAMA, "logit_cap": 1.5, "attention_cap": 1.0}
PYTHIA = {**LLAMA, "branches": "parallel-own-norms", "rotary_width": 6}
LAYERS_DIFFER = {**LLAMA, "decoder_layers": 3, "inner": [172, 100], "key_value_heads": [1, 4, 2],
                 "rotary_base": [10000.0, 0.0, 1000000.0], "attention": ["local:4", "full", "local:4"]}
WIDE_VALUES = {**LLAMA, "value_width": 40}
ENCODER = {
    **DROPOUT_FREE,
    "architecture": "encoder", "model": 32, "inner": 128, "heads": 4, "encoder_layers": 2, "source_vocabulary": 53,
    "max_length": 16, "activation": "gelu", "positions": "learned", "norm_placement": "post", "final_norm": False,
    "tie": "output", "output_bias": True, "embedding_scale": "none", "epsilon": 1e-12,
}
BERT = {**ENCODER, "embedding_norm": True}
ENCODER_LONG = {**ENCODER, "model": 96, "inner": 1100, "max_length": 150}
ENCODER_ALIBI = {**ENCODER_LONG, "positions": "alibi"}
ENCODER_BIAS = {**ENCODER_LONG, "positions": "relative-bias", "relative_buckets": 32, "relative_max_distance": 128}
# A label for each text, from all of its rows.
LABELS = {**ENCODER, "head": "label", "labels": ["a", "b", "c"], "tie": "none", "pooling": "mean"}
LABELS_FIRST = {**LABELS, "pooling": "first"}
LABELS_MAX = {**LABELS, "pooling": "max"}

# Models that formulas.py computes, each of several settings that have nothing to do with each other.
SMALL = {
    **DROPOUT_FREE,
    "model": 24, "inner": 40, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "source_vocabulary": 47,
    "target_vocabulary": 53, "max_length": 16, "activation": "gelu", "positions": "none", "norm_placement": "pre",
    "final_norm": True, "tie": "none", "embedding_scale": "none",
}
RMS_GATED = {"norm": "rms", "gated": True, "activation": "silu", "bias": False}
# Values of other widths than keys, and heads that share them.
GROUPED = {"key_value_heads": 2, "head_width": 8, "value_width": 12}
RELATIVE_BIAS = {"positions": "relative-bias", "relative_buckets": 8, "relative_max_distance": 8}
ENCODERS = {
    "patterns, token types, norms of embeddings, sandwich norms": {
        "encoder_layers": 4, "attention": ["local:3+strided:2", "linear", "strided:3", "local:4"],
        "positions": "learned", "token_types": 3, "embedding_norm": True, "norm_placement": "sandwich",
        "logit_cap": 2.0, "tie": "output"},
    "relative keys, grouped, local, branch norms, labels from the mean": {
        **RMS_GATED, **GROUPED, "positions": "relative-keys", "relative_clip": 3, "attention": ["local:4", "full"],
        "norm_placement": "branch", "qk_norm": "head", "head": "labels", "labels": ["a", "b", "c"], "pooling": "mean"},
    "relative keys and values, parallel branches, biases set apart, a number from the maxima": {
        "positions": "relative-keys-values", "relative_clip": 4, "branches": "parallel", "attention_bias": "inputs",
        "feed_forward_bias": "none", "norm_bias": "none", "qk_norm": "all", "head": "number", "pooling": "max"},
    "linear with features of exp, labels of tokens": {
        "positions": "sinusoidal", "attention": ["linear"], "linear_feature": "exp", "norm_placement": "post",
        "bias": False, "feed_forward_bias": "all", "norm_bias": "all", "activation": "gelu-tanh",
        "head": "token-labels", "labels": ["a", "b", "c", "d", "e"]},
    "a part of the head turned, strided, capped scores, a number from the first": {
        "positions": "rotary", "rotary_width": 4, "attention": ["strided:2", "local:3+full"], "attention_cap": 1.0,
        "head": "number", "pooling": "first", "token_types": 2, "attention_bias": "none"},
    "relative bias, local, labels from the maxima": {
        **RELATIVE_BIAS, "attention": ["local:5"], "activation": "gelu", "gated": True, "output_bias": False,
        "head": "labels", "labels": ["a", "b"], "pooling": "max"},
    "rows of positions from the third, gains above one, scaled scores": {
        "positions": "learned", "position_offset": 2, "norm_gain": "plus-one", "embedding_norm": True,
        "norm_placement": "post", "final_norm": False, "attention_scale": 0.5, "output_scale": 0.7},
    "a head layer and its norm, tied, learned positions with a relative bias": {
        **RELATIVE_BIAS, "positions": "learned-relative-bias", "head_layer": "gelu", "head_layer_norm": True,
        "tie": "output", "norm_placement": "post", "final_norm": False, "embedding_norm": True},
    "narrow embeddings, one layer for all, tied through a head layer": {
        "positions": "learned", "embedding_width": 12, "token_types": 2, "embedding_norm": True, "shared_layers": True,
        "encoder_layers": 3, "head_layer": "gelu-tanh", "head_layer_norm": True, "tie": "output"},
    "a pooler, labels from the last": {
        "positions": "sinusoidal", "embedding_width": 8, "head_layer": "tanh", "head": "label",
        "labels": ["a", "b", "c"], "pooling": "last"},
    "tables of values, skips, sandwich norms": {
        "positions": "learned", "encoder_layers": 4, "value_embeddings": [1, 0], "skips": True,
        "norm_placement": "sandwich"},
    "a number from sums by the root of lengths": {
        "positions": "sinusoidal", "head_layer": "relu", "head": "number", "pooling": "mean-sqrt-length",
        "bias": False},
    "halves of sines and cosines from one": {
        "positions": "sinusoidal", "sinusoid": "halves", "position_offset": 1, "bias": False, "norm_bias": "all",
        "norm_gain": "plus-one"},
}
CAUSAL = {
    "rotary, patterns, sandwich norms, biases of attention's inputs": {
        "positions": "rotary", "attention": ["local:3+strided:2", "full"], "norm_placement": "sandwich",
        "attention_bias": "inputs", "bias": False, "qk_norm": "all", "embedding_norm": True, "gated": True},
    "ALiBi, local, grouped, branch norms": {
        **RMS_GATED, **GROUPED, "positions": "alibi", "attention": ["local:4", "full"], "norm_placement": "branch",
        "logit_cap": 1.5, "qk_norm": "head"},
    "relative keys and values, grouped, parallel branches": {
        **GROUPED, "positions": "relative-keys-values", "relative_clip": 3, "branches": "parallel",
        "norm_bias": "none", "embedding_scale": "sqrt-model", "activation": "relu-squared"},
    "linear, grouped, parallel branches": {
        **RMS_GATED, **GROUPED, "attention": ["linear", "local:3"], "positions": "learned", "branches": "parallel"},
    "scaled scores, capped, gains above one of all norms": {
        **RMS_GATED, **GROUPED, "positions": "rotary", "rotary_base": [100.0, 1000.0], "rotary_scaling": "linear",
        "rotary_factor": [1.0, 8.0], "attention": ["local:3", "full"], "norm_placement": "sandwich",
        "qk_norm": "head", "norm_gain": "plus-one", "attention_scale": 0.2, "attention_cap": 1.0, "logit_cap": 1.5,
        "activation": "gelu-tanh", "embedding_scale": "sqrt-model", "tie": "output"},
    "pairs slowed by their turns": {
        **RMS_GATED, **GROUPED, "positions": "rotary", "rotary_base": 500.0, "rotary_scaling": "llama3",
        "rotary_factor": 8.0, "rotary_trained_length": 100, "inner": [40, 24], "rotary_fast_turns": 6.0},
    "pairs slowed by yarn between turns of its own": {
        "positions": "rotary", "rotary_base": 500.0, "rotary_scaling": "yarn", "rotary_factor": 4.0,
        "rotary_trained_length": 500, "head_width": 16, "rotary_slow_turns": 2.0, "rotary_fast_turns": 16.0,
        "rotary_magnitude": 1.3},
    "narrow embeddings, projected and back, gains of each head": {
        **GROUPED, "positions": "learned", "embedding_width": 12, "embedding_norm": True, "norm_placement": "post",
        "final_norm": False, "qk_norm": "head-gains", "tie": "output"},
    "gains of each head, above one": {
        **RMS_GATED, **GROUPED, "positions": "rotary", "qk_norm": "head-gains", "norm_gain": "plus-one",
        "branches": "parallel"},
    "scaled relative keys": {
        "positions": "relative-keys-values", "relative_clip": 3, "attention_scale": 0.7, "head_width": 12},
    "tables of values, skips": {
        **RMS_GATED, **GROUPED, "positions": "rotary", "decoder_layers": 5, "value_embeddings": [1, 2, 0, 2, 1],
        "skips": True, "norm_gain": "plus-one", "value_width": 4},
    "a hashed table of bigrams, norms of embeddings": {
        "positions": "learned", "embedding_norm": True, "bigrams": 100, "tie": "output"},
    "a row for each bigram": {
        **RMS_GATED, "positions": "rotary", "embedding_scale": "sqrt-model", "bigrams": 53 * 54},
}
SEQ2SEQ = {
    "rotary, grouped, patterns": {
        **RMS_GATED, **GROUPED, "positions": "rotary", "attention": ["local:3+strided:2", "full"],
        "attention_cap": 1.0, "qk_norm": "head"},
    "ALiBi, local, sandwich norms": {
        "positions": "alibi", "attention": ["local:4", "full"], "norm_placement": "sandwich", "logit_cap": 2.0,
        "attention_bias": "none", "activation": "relu-squared"},
    "relative bias, branch norms": {
        **RELATIVE_BIAS, "norm_placement": "branch", "gated": True, "attention_bias": "inputs", "norm_bias": "none",
        "feed_forward_bias": "none"},
    "relative keys and values, local, post-norm, grouped, all tied": {
        **GROUPED, "positions": "relative-keys-values", "relative_clip": 3, "attention": ["local:4"],
        "norm_placement": "post", "source_vocabulary": 53, "tie": "all"},
    "tables of values and skips of both stacks, branch norms": {
        "positions": "none", "encoder_layers": 3, "decoder_layers": 3, "value_embeddings": 1, "skips": True,
        "norm_placement": "branch"},
    "relative keys, norms of all heads": {
        "positions": "relative-keys", "relative_clip": 2, "qk_norm": "all", "norm": "rms", "tie": "output"},
    "linear and strided layers": {
        "positions": "sinusoidal", "attention": ["linear", "strided:2"], "embedding_norm": True,
        "key_value_heads": 1, "value_width": 4},
    "recurrence in the decoder, post-norm": {
        "positions": "sinusoidal", "sinusoid": "halves-inclusive", "autoregression": "ssru", "norm_placement": "post",
        "final_norm": False, "source_vocabulary": 53, "tie": "all", "embedding_scale": "sqrt-model"},
    "recurrence without biases": {
        **RMS_GATED, **GROUPED, "positions": "learned", "autoregression": "ssru", "attention": ["local:4", "full"]},
    "inclusive halves of sines and cosines from two": {
        "positions": "sinusoidal", "sinusoid": "halves-inclusive", "position_offset": 2,
        "source_vocabulary": 53, "tie": "all", "embedding_scale": "sqrt-model"},
    "relative bias, another scale, scaled output": {
        **RMS_GATED, **RELATIVE_BIAS, "attention_scale": 0.6, "output_scale": 24 ** -0.5, "activation": "gelu-tanh",
        "head_width": 8, "source_vocabulary": 53, "tie": "all"},
}
FORMULAS = {f"{kind}, {name}": {**SMALL, "architecture": architecture, **own}
            for kind, architecture, models in (("encoder", "encoder", ENCODERS), ("causal", "causal-lm", CAUSAL),
                                               ("encoder-decoder", "seq2seq", SEQ2SEQ))
            for name, own in models.items()}

SHORT = [[7, 1, 12, 3, 5], [4, 12, 1, 6, 9]]
LONG = [[70, 1, 130, 33], [130, 2, 64, 65]]


def oracle_of(config):
    if config["architecture"] == "causal-lm":
        return oracles.Llama(config) if config.get("gated") else oracles.Gpt(config)
    return (oracles.Encoder if config["architecture"] == "encoder" else oracles.Seq2Seq)(config)


def batch_of(config, seed=3, lengths=None):
    """Five ragged sequences. Most of an encoder's tokens are not to be predicted, and a few of the others'."""
    if lengths is None:
        lengths = LONG if config["max_length"] >= 130 else SHORT
    source = lengths[1] if config["architecture"] == "seq2seq" else None
    return Batch(config, seed, lengths[0], source, ignored=0.6 if config["architecture"] == "encoder" else 0.1)


def elements_agree(title, config, relative=1e-4, smoothing=SMOOTHING, oracle_config=None, make_oracle=oracle_of,
                   **options):
    """heed's results against PyTorch's in float64, element by element. The oracle's configuration may be another one, to
    see that the difference is noticed."""
    oracle = make_oracle(oracle_config or config).begin(seed=1)
    batch = batch_of(config)
    found = run_heed(config, oracle.heed_weights(), [batch], smoothing=smoothing, **options)
    comparison = Comparison(title)
    compare_elements(comparison, run_torch(oracle, [batch], smoothing), found, relative)
    return comparison


def rounded(config, make_oracle=oracle_of, precision="bf16", deviations=DEVIATIONS):
    """PyTorch's results in float64 from weights that the precision holds exactly, and how far rounding to it may move
    them."""
    oracle, batch = make_oracle(config).begin(seed=1, precision=precision), batch_of(config)
    exact = run_torch(oracle, [batch])
    return exact, bounds_of(exact, lambda rounding: run_torch(oracle, [batch], rounding=rounding), precision, deviations)


def norms_agree(title, config, expected, make_oracle=oracle_of, precision="bf16", together=TOGETHER):
    """heed against what rounded() gave, maybe of another configuration, to see that it is noticed. `precision` may name
    the kind of bf16 products."""
    weights = make_oracle(config).begin(seed=1, precision=precision.split()[0]).heed_weights()
    exact, bounds = expected
    comparison = Comparison(title)
    compare_norms(comparison, exact, run_heed(config, weights, [batch_of(config)], precision=precision), bounds, together)
    return comparison


def all_agree(models):
    """Each model as f32, through the logits' own loss, without smoothing, as double, and as bf16 with each kind of
    products."""
    comparisons = []
    for name, config in models.items():
        comparisons += [
            elements_agree(f"{name}, f32", config),
            elements_agree(f"{name}, f32, cross-entropy of logits", config, loss_path="of_logits"),
            elements_agree(f"{name}, f32, no smoothing", config, smoothing=0.0),
            # The reference backend: nothing but the formulas can differ here.
            elements_agree(f"{name}, f64", config, relative=1e-9, precision="f64"),
        ]
        expected = rounded(config)
        comparisons += [norms_agree(f"{name}, bf16 {kind}", config, expected, precision=f"bf16 {kind}")
                        for kind in bf16_products()]
    return comparisons


def formulas_agree(models):
    """Each model of formulas.py as double, f32 and bf16."""
    comparisons, model = [], formulas.Model
    for name, config in models.items():
        in_f32 = rounded(config, model, "f32", DEVIATIONS_OF_MANY)
        comparisons += [
            elements_agree(f"{name}, f64", config, relative=1e-9, precision="f64", make_oracle=model),
            norms_agree(f"{name}, f32", config, in_f32, make_oracle=model, precision="f32", together=1.0),
            norms_agree(f"{name}, bf16", config, rounded(config, model), make_oracle=model),
        ]
    return comparisons


def padded_agrees(title, config, lengths=None, extra_keys=0, precision="f32"):
    """heed with a ragged batch against heed with a padded rectangle and masks. The masks may show `extra_keys` of the
    padding, to see that this is noticed. Only the sums over rows that gradients of weights are may differ, since padding
    adds zeros to them, which in f32 come into other partial sums: each of the two is within a bound of the exact one."""
    oracle = oracle_of(config).begin(seed=1)
    batch, shown = batch_of(config, lengths=lengths), batch_of(config, lengths=lengths)
    for rectangle in (shown.source, shown.target):
        if rectangle:
            rectangle.lengths = [min(length + extra_keys, rectangle.width) for length in rectangle.lengths]
    ragged = run_heed(config, oracle.heed_weights(), [batch], precision=precision)
    padded = run_heed(config, oracle.heed_weights(), [shown], precision=precision, layout="padded")
    shape = (len(batch.target.lengths), batch.target.width, -1)
    for rows in ("logits", "losses"):
        padded[rows] = padded[rows].reshape(shape)[batch.target.real().numpy()]
    comparison = Comparison(title)
    sums = gradients_in(ragged) if precision == "f32" else {}
    for name in sorted(ragged.keys() - sums.keys()):
        comparison.same("the same bits", name, ragged[name], padded[name])
    if sums:
        # PyTorch's softmax over no key is NaN: there a source of one token stands for one without any.
        filled = batch_of(config, lengths=lengths and [[max(1, length) for length in side] for side in lengths])
        exact = gradients_in(run_torch(oracle, [filled]))
        bounds = bounds_of(exact, lambda rounding: run_torch(oracle, [filled], rounding=rounding), precision)
        for name, bound in bounds.items():
            comparison.norm("gradients", name, ragged[name], padded[name], numpy.sqrt(2) * bound)
    return comparison


def replay_agrees(title, config, precision="f32", replay_seed=1):
    """heed with kept and with recomputed activations, with dropout active: losses, gradients and steps to the bit."""
    weights = oracle_of(config).begin(seed=1).heed_weights()
    batch = batch_of(config)

    def run(seed, **options):
        return run_heed({**config, **options}, weights, [batch], precision=precision, seed=seed,
                        steps=Steps("decoupled", count=3))

    dropout = {site: 0.2 for site in DROPOUT_FREE}
    kept, undropped = run(1, **dropout), run(1)
    replayed = run(replay_seed, **dropout, recompute_layers=True)
    comparison = Comparison(title)
    tensors = [key for key, value in kept.items() if hasattr(value, "shape")]
    for key in tensors:
        comparison.same("elements that differ", key, kept[key], replayed[key])
    if (kept["losses"] == undropped["losses"]).all():
        comparison.failures.append("dropout changed no loss: it was not active")
    return comparison
