"""The language models: their configurations, with the keys that the original library writes."""

import decoders
import torch
import vocabularies
from model import Decoder

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False, "attention_dropout": 0.0,
    "bos_token_id": 1, "eos_token_id": 2, "head_dim": 8, "hidden_act": "silu", "hidden_size": 32,
    "initializer_range": 0.02, "intermediate_size": 44, "max_position_embeddings": 512, "mlp_bias": False,
    "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pretraining_tp": 1,
    "rms_norm_eps": 0.003, "rope_scaling": None, "rope_theta": 10000.0, "tie_word_embeddings": False, "use_cache": True,
    "vocab_size": 54,
}
LLAMA_3 = {
    **LLAMA, "rope_theta": 500000.0,
    "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                     "original_max_position_embeddings": 256, "rope_type": "llama3"},
    "bos_token_id": 51, "eos_token_id": [52, 53],
}
SMALL_LLAMA = {
    **LLAMA, "head_dim": 4, "hidden_size": 16, "intermediate_size": 28, "rope_theta": 100000.0,
    "tie_word_embeddings": True,
}


def version_5(config):
    """As transformers 5 writes it: rotary settings under rope_parameters, `dtype` for `torch_dtype`."""
    scaling = config.pop("rope_scaling", None) or {"rope_type": "default"}
    config["rope_parameters"] = {**scaling, "rope_theta": config.pop("rope_theta")}
    config["dtype"] = config.pop("torch_dtype")
    config["transformers_version"] = "5.0.0"
    config.pop("pretraining_tp", None)
    return config


def sampled(config, **more):
    ids = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id") if config.get(key) is not None}
    return {**ids, **more, "transformers_version": "4.49.0"}


GPT2 = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new", "attn_pdrop": 0.1,
    "bos_token_id": 53, "embd_pdrop": 0.1, "eos_token_id": 53, "initializer_range": 0.02, "layer_norm_epsilon": 0.003,
    "n_embd": 16, "n_head": 4, "n_inner": None, "n_layer": 2, "n_positions": 36, "reorder_and_upcast_attn": False,
    "resid_pdrop": 0.1, "scale_attn_by_inverse_layer_idx": False, "scale_attn_weights": True,
    "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True,
    "summary_type": "cls_index", "summary_use_proj": True, "use_cache": True, "vocab_size": 54,
}


def gpt2_buffers(config, tensors):
    """The causal masks that the first published checkpoints carry."""
    n = config["n_positions"]
    return {f"h.{i}.attn.bias": torch.ones(n, n).tril().view(1, 1, n, n) for i in range(config["n_layer"])}


QWEN2 = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "attention_dropout": 0.0, "bos_token_id": 51,
    "eos_token_id": 51, "hidden_act": "silu", "hidden_size": 16, "initializer_range": 0.02, "intermediate_size": 28,
    "max_position_embeddings": 128, "max_window_layers": 2, "num_attention_heads": 4, "num_hidden_layers": 2,
    "num_key_value_heads": 2, "rms_norm_eps": 0.003, "rope_scaling": None, "rope_theta": 1000000.0,
    "sliding_window": 64, "tie_word_embeddings": True, "use_cache": True, "use_sliding_window": False, "vocab_size": 56,
}

DECODERS = [
    Decoder("llama", decoders.llama, LLAMA_3, dtype=torch.bfloat16, tokenizer=vocabularies.byte_level("llama3"),
            generation=sampled(LLAMA_3, do_sample=True, temperature=0.6, top_p=0.9)),
    Decoder("llama-v5", decoders.llama, LLAMA_3, dtype=torch.bfloat16, old=version_5,
            tokenizer=vocabularies.byte_level("llama3"), generation=sampled(LLAMA_3)),
    Decoder("llama-tied", decoders.llama, SMALL_LLAMA, tokenizer=vocabularies.sentencepiece_bpe("llama2"),
            generation=sampled(LLAMA)),
    Decoder("llama-biases", decoders.llama,
            {**SMALL_LLAMA, "tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True,
             "rope_scaling": {"factor": 2.5, "type": "linear"}},
            dtype=torch.float16, tokenizer=vocabularies.sentencepiece_bpe("llama2"), generation=sampled(LLAMA)),
    Decoder("gpt2", decoders.gpt2, GPT2, tokenizer=vocabularies.byte_level("gpt2"), generation=sampled(GPT2)),
    Decoder("gpt2-old", lambda c, w, read, ids: decoders.gpt2(c, w, read, ids, prefix=""), {**GPT2, "n_inner": 28},
            extra=gpt2_buffers, tokenizer=vocabularies.byte_level("gpt2"), generation=sampled(GPT2)),
    Decoder("qwen2", decoders.llama, QWEN2, dtype=torch.bfloat16, tokenizer=vocabularies.byte_level("qwen2"),
            generation=sampled(QWEN2)),
    Decoder("qwen2-windows", decoders.llama,
            {**QWEN2, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1,
             "num_hidden_layers": 3}, tokenizer=vocabularies.byte_level("qwen2"), generation=sampled(QWEN2)),
]
