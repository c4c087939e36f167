"""The language models: their configurations, with the keys that the original library writes."""

import decoders
import decoders_other as other
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

QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": False, "attention_dropout": 0.0,
    "bos_token_id": 51, "eos_token_id": 53, "head_dim": 6, "hidden_act": "silu", "hidden_size": 16,
    "initializer_range": 0.02, "intermediate_size": 28, "max_position_embeddings": 128, "max_window_layers": 2,
    "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 0.003,
    "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None, "tie_word_embeddings": True,
    "use_cache": True, "use_sliding_window": False, "vocab_size": 56,
}
MISTRAL = {
    "architectures": ["MistralForCausalLM"], "model_type": "mistral", "attention_dropout": 0.0, "bos_token_id": 1,
    "eos_token_id": 2, "head_dim": 6, "hidden_act": "silu", "hidden_size": 20, "initializer_range": 0.02,
    "intermediate_size": 28, "max_position_embeddings": 128, "num_attention_heads": 4, "num_hidden_layers": 2,
    "num_key_value_heads": 2, "rms_norm_eps": 0.003, "rope_theta": 1000000.0, "sliding_window": 5,
    "tie_word_embeddings": False, "use_cache": True, "vocab_size": 54,
}
SMOLLM = {
    **SMALL_LLAMA, "bos_token_id": 53, "eos_token_id": 53, "is_llama_config": True, "num_attention_heads": 3,
    "num_key_value_heads": 1, "hidden_size": 18, "head_dim": 6, "pad_token_id": 53, "rope_interleaved": False,
    "transformers.js_config": {"kv_cache_dtype": {"fp16": "float16", "q4f16": "float16"}},
}
SMOLLM_3 = {
    "architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "attention_bias": False, "attention_dropout": 0.0,
    "bos_token_id": 51, "eos_token_id": 53, "hidden_act": "silu", "hidden_size": 16, "initializer_range": 0.02,
    "intermediate_size": 28, "layer_types": ["full_attention"] * 4, "max_position_embeddings": 128,
    "max_window_layers": 4, "mlp_bias": False, "no_rope_layer_interval": 3, "no_rope_layers": [1, 1, 0, 1],
    "num_attention_heads": 4, "num_hidden_layers": 4, "num_key_value_heads": 2, "pad_token_id": 51,
    "rms_norm_eps": 0.003, "rope_scaling": None, "rope_theta": 50000.0, "sliding_window": None,
    "tie_word_embeddings": True, "use_cache": True, "use_sliding_window": False, "vocab_size": 56,
}
GEMMA = {
    "architectures": ["GemmaForCausalLM"], "model_type": "gemma", "attention_bias": False, "attention_dropout": 0.0,
    "bos_token_id": 2, "eos_token_id": 1, "head_dim": 6, "hidden_act": "gelu", "hidden_activation": None,
    "hidden_size": 16, "initializer_range": 0.02, "intermediate_size": 28, "max_position_embeddings": 128,
    "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 1, "pad_token_id": 0,
    "rms_norm_eps": 0.003, "rope_scaling": None, "rope_theta": 10000.0, "use_cache": True, "vocab_size": 54,
}
GEMMA_2 = {
    **GEMMA, "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "attn_logit_softcapping": 3.0,
    "cache_implementation": "hybrid", "final_logit_softcapping": 5.0, "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh", "num_hidden_layers": 3, "num_key_value_heads": 2,
    "query_pre_attn_scalar": 10, "sliding_window": 5,
}
GEMMA_3 = {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "attention_bias": False,
    "attention_dropout": 0.0, "attn_logit_softcapping": None, "bos_token_id": 2, "cache_implementation": "hybrid",
    "eos_token_id": [1, 3], "final_logit_softcapping": None, "head_dim": 6, "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size": 16, "initializer_range": 0.02, "intermediate_size": 28, "max_position_embeddings": 128,
    "num_attention_heads": 4, "num_hidden_layers": 4, "num_key_value_heads": 1, "pad_token_id": 0,
    "query_pre_attn_scalar": 10, "rms_norm_eps": 0.003, "rope_local_base_freq": 10000.0,
    "rope_scaling": {"factor": 2.5, "rope_type": "linear"}, "rope_theta": 1000000.0, "sliding_window": 5,
    "sliding_window_pattern": 3, "use_cache": True, "vocab_size": 54,
}


def gemma_3_version_5(config):
    """As transformers 5 writes it: the kind of each layer, and rotary settings by kind."""
    pattern = config.pop("sliding_window_pattern")
    config["layer_types"] = ["sliding_attention" if (i + 1) % pattern else "full_attention"
                             for i in range(config["num_hidden_layers"])]
    config["rope_parameters"] = {
        "full_attention": {**config.pop("rope_scaling"), "rope_theta": config.pop("rope_theta")},
        "sliding_attention": {"rope_type": "default", "rope_theta": config.pop("rope_local_base_freq")}}
    config["dtype"] = config.pop("torch_dtype")
    config["transformers_version"] = "5.0.0"
    config["use_bidirectional_attention"] = False
    return config


NEOX = {
    "architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "attention_bias": True,
    "attention_dropout": 0.0, "bos_token_id": 0, "classifier_dropout": 0.1, "eos_token_id": 0, "hidden_act": "gelu",
    "hidden_dropout": 0.0, "hidden_size": 24, "initializer_range": 0.02, "intermediate_size": 36,
    "layer_norm_eps": 0.003, "max_position_embeddings": 128, "num_attention_heads": 3, "num_hidden_layers": 2,
    "partial_rotary_factor": 0.5, "rope_scaling": None, "rope_theta": 10000, "rotary_emb_base": 10000,
    "rotary_pct": 0.5, "tie_word_embeddings": False, "use_cache": True, "use_parallel_residual": True,
    "vocab_size": 56,
}


def neox_buffers(config, tensors):
    """What Pythia's first checkpoints carry beside their weights."""
    width = int(config["hidden_size"] // config["num_attention_heads"] * config["rotary_pct"])
    frequencies = config["rotary_emb_base"] ** (-torch.arange(0, width, 2) / width)
    result = {}
    for i in range(config["num_hidden_layers"]):
        name = f"gpt_neox.layers.{i}.attention."
        result[name + "bias"] = torch.ones(24, 24, dtype=torch.bool).tril().view(1, 1, 24, 24)
        result[name + "masked_bias"] = torch.tensor(-1e9)
        result[name + "rotary_emb.inv_freq"] = frequencies
    return result


OPT = {
    "architectures": ["OPTForCausalLM"], "model_type": "opt", "_remove_final_layer_norm": False,
    "activation_dropout": 0.0, "activation_function": "relu", "attention_dropout": 0.0, "bos_token_id": 2,
    "do_layer_norm_before": True, "dropout": 0.1, "enable_bias": True, "eos_token_id": 2, "ffn_dim": 28,
    "hidden_size": 16, "init_std": 0.02, "layer_norm_elementwise_affine": True, "layerdrop": 0.0,
    "max_position_embeddings": 36, "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 1,
    "prefix": "</s>", "use_cache": True, "vocab_size": 54, "word_embed_proj_dim": 16,
}
PHI_3 = {
    "architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "attention_bias": False, "attention_dropout": 0.0,
    "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config",
                 "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"},
    "bos_token_id": 1, "embd_pdrop": 0.0, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 24,
    "initializer_range": 0.02, "intermediate_size": 28, "max_position_embeddings": 128, "num_attention_heads": 4,
    "num_hidden_layers": 2, "num_key_value_heads": 2, "original_max_position_embeddings": 128, "pad_token_id": 2,
    "resid_pdrop": 0.0, "rms_norm_eps": 0.003, "rope_scaling": None, "rope_theta": 20000.0, "sliding_window": 7,
    "tie_word_embeddings": False, "use_cache": True, "vocab_size": 54,
}
STABLELM = {
    "architectures": ["StableLmForCausalLM"], "model_type": "stablelm", "attention_dropout": 0.0, "bos_token_id": 0,
    "eos_token_id": 0, "hidden_act": "silu", "hidden_dropout": 0.0, "hidden_size": 24, "initializer_range": 0.02,
    "intermediate_size": 28, "layer_norm_eps": 0.003, "max_position_embeddings": 128, "num_attention_heads": 3,
    "num_hidden_layers": 2, "num_key_value_heads": 3, "partial_rotary_factor": 0.5, "qk_layernorm": False,
    "rope_scaling": None, "rope_theta": 20000, "tie_word_embeddings": False, "use_cache": True,
    "use_parallel_residual": False, "use_qkv_bias": True, "vocab_size": 56,
}
YARN = {"factor": 4.0, "original_max_position_embeddings": 4096, "type": "yarn"}
YARN_IN_FULL = {"attention_factor": 1.3, "beta_fast": 2.5, "beta_slow": 0.5, "factor": 5.0,
                "original_max_position_embeddings": 4096, "rope_type": "yarn"}

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
    Decoder("gpt2-pickled", decoders.gpt2, GPT2, form="old bin", dtype=torch.float16,
            tokenizer=vocabularies.byte_level("gpt2"), generation=sampled(GPT2)),
    Decoder("qwen2", decoders.llama, QWEN2, dtype=torch.bfloat16, tokenizer=vocabularies.byte_level("qwen2"),
            generation=sampled(QWEN2)),
    Decoder("qwen2-windows", decoders.llama,
            {**QWEN2, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1,
             "num_hidden_layers": 3}, tokenizer=vocabularies.byte_level("qwen2"), generation=sampled(QWEN2)),
    Decoder("qwen3", decoders.llama, QWEN3, dtype=torch.bfloat16, tokenizer=vocabularies.byte_level("qwen2"),
            generation=sampled(QWEN3, eos_token_id=[53, 51])),
    Decoder("qwen2-yarn", decoders.llama, {**QWEN2, "hidden_size": 32, "max_position_embeddings": 16384,
                                           "rope_scaling": YARN, "rope_theta": 10000.0},
            dtype=torch.bfloat16, tokenizer=vocabularies.byte_level("qwen2"), generation=sampled(QWEN2)),
    Decoder("llama-yarn-v5", decoders.llama, {**LLAMA, "intermediate_size": 28, "rope_scaling": YARN_IN_FULL,
                                              "max_position_embeddings": 20480},
            old=version_5, dtype=torch.bfloat16, tokenizer=vocabularies.sentencepiece_bpe("llama2"),
            generation=sampled(LLAMA)),
    Decoder("mistral", decoders.llama, MISTRAL, dtype=torch.bfloat16, shards=2,
            tokenizer=vocabularies.sentencepiece_bpe("llama2"), generation=sampled(MISTRAL)),
    Decoder("smollm", decoders.llama, SMOLLM, dtype=torch.bfloat16, tokenizer=vocabularies.byte_level("gpt2"),
            generation=sampled(SMOLLM)),
    Decoder("smollm3", decoders.llama, SMOLLM_3, dtype=torch.bfloat16, tokenizer=vocabularies.byte_level("qwen2"),
            generation=sampled(SMOLLM_3)),
    Decoder("smollm3-windows", decoders.llama,
            {**{key: value for key, value in SMOLLM_3.items() if key not in ("no_rope_layers", "layer_types")},
             "use_sliding_window": True, "sliding_window": 5, "tie_word_embeddings": False,
             "layer_types": ["full_attention", "full_attention", "sliding_attention", "full_attention"]},
            dtype=torch.bfloat16, tokenizer=vocabularies.byte_level("qwen2"), generation=sampled(SMOLLM_3)),
    Decoder("gemma", other.gemma, GEMMA, dtype=torch.bfloat16, tokenizer=vocabularies.sentencepiece_bpe("gemma"),
            generation=sampled(GEMMA)),
    Decoder("gemma-2", other.gemma, GEMMA_2, seed=2, dtype=torch.bfloat16,
            tokenizer=vocabularies.sentencepiece_bpe("gemma"),
            generation=sampled(GEMMA_2, cache_implementation="hybrid")),
    Decoder("gemma-3", other.gemma, GEMMA_3, seed=23, dtype=torch.bfloat16,
            tokenizer=vocabularies.sentencepiece_bpe("gemma"),
            generation=sampled(GEMMA_3, cache_implementation="hybrid")),
    Decoder("gemma-3-v5", other.gemma, GEMMA_3, seed=35, old=gemma_3_version_5, dtype=torch.bfloat16,
            tokenizer=vocabularies.sentencepiece_bpe("gemma"), generation=sampled(GEMMA_3)),
    Decoder("gpt-neox", other.gpt_neox, NEOX, dtype=torch.float16, extra=neox_buffers,
            tokenizer=vocabularies.byte_level("neox"), generation=sampled(NEOX)),
    Decoder("gpt-neox-serial", other.gpt_neox, {**NEOX, "use_parallel_residual": False, "rotary_pct": 1.0,
                                                "partial_rotary_factor": 1.0},
            dtype=torch.float16, tokenizer=vocabularies.byte_level("neox"), generation=sampled(NEOX)),
    Decoder("opt", other.opt, OPT, seed=1, dtype=torch.float16, tokenizer=vocabularies.byte_level("opt"),
            generation=sampled(OPT)),
    Decoder("opt-shards", other.opt, OPT, seed=1, form="bin", shards=2, dtype=torch.float16,
            tokenizer=vocabularies.byte_level("opt"), generation=sampled(OPT)),
    Decoder("opt-350m", other.opt, {**OPT, "do_layer_norm_before": False, "word_embed_proj_dim": 12},
            seed=1, dtype=torch.float16, tokenizer=vocabularies.byte_level("opt"), generation=sampled(OPT)),
    Decoder("phi-3", other.phi3, PHI_3, dtype=torch.bfloat16, tokenizer=vocabularies.sentencepiece_bpe("llama2"),
            generation=sampled(PHI_3)),
    Decoder("stablelm", other.stablelm, STABLELM, dtype=torch.float16, tokenizer=vocabularies.byte_level("neox"),
            generation=sampled(STABLELM)),
    Decoder("stablelm-parallel", other.stablelm,
            {**STABLELM, "num_attention_heads": 4, "num_key_value_heads": 2, "qk_layernorm": True,
             "use_qkv_bias": False, "use_parallel_residual": True, "hidden_size": 32, "intermediate_size": 20},
            dtype=torch.float16, tokenizer=vocabularies.byte_level("neox"), generation=sampled(STABLELM)),
]
