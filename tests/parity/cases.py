"""The models and batches that the parity tests share."""

import oracles
from parity import Batch, Comparison, compare_elements, compare_norms, run_heed, run_torch

DROPOUT_FREE = {f"{site}_dropout": 0.0 for site in ("embedding", "attention", "inner", "branch")}

SEQ2SEQ_PRE = {
    **DROPOUT_FREE,
    "architecture": "seq2seq", "model": 32, "inner": 64, "heads": 4, "encoder_layers": 2, "decoder_layers": 2,
    "source_vocabulary": 47, "target_vocabulary": 53, "longest": 16, "activation": "relu", "positions": "sinusoidal",
    "norm_placement": "pre", "final_norm": True, "tie": "none", "output_bias": True, "embedding_scale": "sqrt-model",
}
SEQ2SEQ_POST = {**SEQ2SEQ_PRE, "norm_placement": "post", "final_norm": False}
SEQ2SEQ_TIED = {**SEQ2SEQ_POST, "source_vocabulary": 53, "tie": "all", "final_norm": True, "output_bias": False,
                "activation": "gelu", "positions": "learned", "embedding_scale": "none"}
# Sizes that are no multiple of a vector and go beyond one block of a product's inner dimension.
SEQ2SEQ_LARGE = {**SEQ2SEQ_PRE, "model": 96, "inner": 1100, "target_vocabulary": 1201, "encoder_layers": 1,
                 "decoder_layers": 1}
GPT = {
    **DROPOUT_FREE,
    "architecture": "causal-lm", "model": 48, "inner": 192, "heads": 3, "decoder_layers": 2, "target_vocabulary": 53,
    "longest": 20, "activation": "gelu", "positions": "learned", "norm_placement": "pre", "final_norm": True,
    "tie": "output", "output_bias": False, "embedding_scale": "none",
}
GPT_LARGE = {**GPT, "model": 96, "heads": 2, "inner": 1100, "longest": 150}
GPT_WINDOW = {**GPT, "window": 3, "activation": "gelu-tanh", "tie": "none", "output_bias": True}
LLAMA = {
    **DROPOUT_FREE,
    "architecture": "causal-lm", "model": 64, "inner": 172, "heads": 4, "key_value_heads": 2, "head_width": 24,
    "decoder_layers": 2, "target_vocabulary": 53, "longest": 20, "activation": "silu", "gated": True,
    "positions": "rotary", "rotary_base": 10000.0, "norm": "rms", "epsilon": 1e-6, "norm_placement": "pre",
    "final_norm": True, "bias": False, "tie": "none", "output_bias": False, "embedding_scale": "none",
}
LLAMA_LARGE = {**LLAMA, "model": 96, "inner": 1100, "heads": 6, "key_value_heads": 1, "head_width": 32, "longest": 150}
ENCODER = {
    **DROPOUT_FREE,
    "architecture": "encoder", "model": 32, "inner": 128, "heads": 4, "encoder_layers": 2, "source_vocabulary": 53,
    "longest": 16, "activation": "gelu", "positions": "learned", "norm_placement": "post", "final_norm": False,
    "tie": "output", "output_bias": True, "embedding_scale": "none", "epsilon": 1e-12,
}
ENCODER_LARGE = {**ENCODER, "model": 96, "inner": 1100, "longest": 150}

SHORT = [[7, 1, 12, 3, 5], [4, 12, 1, 6, 9]]
LONG = [[70, 1, 130, 33], [130, 2, 64, 65]]


def oracle_of(config):
    if config["architecture"] == "causal-lm":
        return oracles.Llama(config) if config.get("gated") else oracles.Gpt(config)
    return (oracles.Encoder if config["architecture"] == "encoder" else oracles.Seq2Seq)(config)


def batch_of(config, seed=3, lengths=None):
    """Five ragged sequences; of an encoder's tokens most are not to be predicted, of others' a few."""
    if lengths is None:
        lengths = LONG if config["longest"] >= 130 else SHORT
    source = lengths[1] if config["architecture"] == "seq2seq" else None
    return Batch(config, seed, lengths[0], source, ignored=0.6 if config["architecture"] == "encoder" else 0.1)


def elements_agree(title, config, relative=1e-4, **options):
    """heed's results against PyTorch's in float64, element by element."""
    oracle = oracle_of(config).begin(seed=1)
    batch = batch_of(config)
    found = run_heed(config, oracle.heed_weights(), [batch], **options)
    expected = run_torch(oracle, [batch], **{k: v for k, v in options.items() if k == "smoothing"})
    comparison = Comparison(title)
    compare_elements(comparison, expected, found, relative)
    return comparison


def norms_agree(title, config, tolerances, **options):
    """heed in bf16 against PyTorch in float64 from the same weights, which bf16 holds exactly."""
    oracle = oracle_of(config).begin(seed=1, precision="bf16")
    batch = batch_of(config)
    found = run_heed(config, oracle.heed_weights(), [batch], precision="bf16", **options)
    comparison = Comparison(title)
    compare_norms(comparison, run_torch(oracle, [batch]), found, **tolerances)
    return comparison


def all_agree(models, bf16):
    """Each model as f32, through the logits' own loss, without smoothing, as double, and as bf16."""
    comparisons = []
    for name, config in models.items():
        comparisons += [
            elements_agree(f"{name}, f32", config),
            elements_agree(f"{name}, f32, cross-entropy of logits", config, loss_path="of_logits"),
            elements_agree(f"{name}, f32, no smoothing", config, smoothing=0.0),
            # The reference backend: nothing but the formulas can differ here.
            elements_agree(f"{name}, f64", config, relative=1e-9, precision="f64"),
            norms_agree(f"{name}, bf16", config, bf16),
        ]
    return comparisons
