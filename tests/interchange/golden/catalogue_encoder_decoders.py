"""The encoder-decoders: their configurations, with the keys that the original library writes."""

import encoder_decoders as families
import sentencepieces
import torch
import vocabularies
from model import Encoder, EncoderDecoder

MARIAN = {
    "architectures": ["MarianMTModel"], "model_type": "marian", "_num_labels": 3, "activation_dropout": 0.0,
    "activation_function": "swish", "add_bias_logits": False, "add_final_layer_norm": False, "attention_dropout": 0.0,
    "bad_words_ids": [[53]], "bos_token_id": 0, "classif_dropout": 0.0, "classifier_dropout": 0.0, "d_model": 16,
    "decoder_attention_heads": 4, "decoder_ffn_dim": 28, "decoder_layerdrop": 0.0, "decoder_layers": 1,
    "decoder_start_token_id": 53, "decoder_vocab_size": 54, "dropout": 0.1, "encoder_attention_heads": 4,
    "encoder_ffn_dim": 28, "encoder_layerdrop": 0.0, "encoder_layers": 2, "eos_token_id": 0, "forced_eos_token_id": 0,
    "init_std": 0.02, "is_encoder_decoder": True, "max_length": 512, "max_position_embeddings": 56,
    "normalize_before": False, "normalize_embedding": False, "num_beams": 4, "num_hidden_layers": 2,
    "pad_token_id": 53, "scale_embedding": True, "share_encoder_decoder_embeddings": True,
    "static_position_embeddings": True, "use_cache": True, "vocab_size": 54,
}
MARIAN_GENERATION = {
    "bad_words_ids": [[53]], "bos_token_id": 0, "decoder_start_token_id": 53, "eos_token_id": 0,
    "forced_eos_token_id": 0, "max_length": 512, "num_beams": 4, "pad_token_id": 53, "transformers_version": "4.49.0",
}
MARIAN_APART = {
    **MARIAN, "activation_function": "relu", "scale_embedding": False, "share_encoder_decoder_embeddings": False,
    "vocab_size": 54, "decoder_vocab_size": 58, "tie_word_embeddings": False, "bad_words_ids": [[57]],
    "decoder_start_token_id": 57,
}


def tied_copies(config, tensors):
    """pytorch_model.bin holds both stacks' names of the shared table too: one storage under four names."""
    shared = tensors["model.shared.weight"]
    return {"model.encoder.embed_tokens.weight": shared, "model.decoder.embed_tokens.weight": shared,
            "lm_head.weight": shared}


T5 = {
    "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "classifier_dropout": 0.0, "d_ff": 28,
    "d_kv": 6, "d_model": 16, "decoder_start_token_id": 0, "dense_act_fn": "relu", "dropout_rate": 0.1,
    "eos_token_id": 1, "feed_forward_proj": "relu", "initializer_factor": 1.0, "is_encoder_decoder": True,
    "is_gated_act": False, "layer_norm_epsilon": 0.003, "n_positions": 512, "num_decoder_layers": 2, "num_heads": 3,
    "num_layers": 2, "output_past": True, "pad_token_id": 0, "relative_attention_max_distance": 11,
    "relative_attention_num_buckets": 8, "use_cache": True, "vocab_size": 56,
}
T5_1_1 = {
    **T5, "dense_act_fn": "gelu_new", "feed_forward_proj": "gated-gelu", "is_gated_act": True,
    "num_layers": 1, "tie_word_embeddings": False,
}
T5_GENERATION = {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "transformers_version": "4.49.0"}


def unused_cross_bias(config, tensors):
    """A table that the first checkpoints carry and no layer reads."""
    name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    return {name: torch.ones(config["relative_attention_num_buckets"], config["num_heads"])}


def t5_encoder(c, w, read, ids, types):
    return {"hidden": families.t5_encoder(c, w, read, ids)}


BART = {
    "architectures": ["BartForConditionalGeneration"], "model_type": "bart", "_name_or_path": "bart-base",
    "activation_dropout": 0.1, "activation_function": "gelu", "add_bias_logits": False, "add_final_layer_norm": False,
    "attention_dropout": 0.1, "bos_token_id": 0, "classif_dropout": 0.1, "classifier_dropout": 0.0, "d_model": 16,
    "decoder_attention_heads": 4, "decoder_ffn_dim": 28, "decoder_layerdrop": 0.0, "decoder_layers": 1,
    "decoder_start_token_id": 2, "dropout": 0.1, "early_stopping": True, "encoder_attention_heads": 4,
    "encoder_ffn_dim": 28, "encoder_layerdrop": 0.0, "encoder_layers": 2, "eos_token_id": 2,
    "forced_bos_token_id": 0, "forced_eos_token_id": 2, "gradient_checkpointing": False, "init_std": 0.02,
    "is_encoder_decoder": True, "max_position_embeddings": 36, "no_repeat_ngram_size": 3, "normalize_before": False,
    "normalize_embedding": True, "num_beams": 4, "num_hidden_layers": 2, "pad_token_id": 1, "scale_embedding": False,
    "use_cache": True, "vocab_size": 54,
}
BART_GENERATION = {
    "bos_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 2, "forced_bos_token_id": 0,
    "forced_eos_token_id": 2, "num_beams": 4, "pad_token_id": 1, "transformers_version": "4.49.0",
}
MBART_50 = {
    "architectures": ["MBartForConditionalGeneration"], "model_type": "mbart", "_num_labels": 3,
    "activation_dropout": 0.0, "activation_function": "gelu", "add_bias_logits": False, "add_final_layer_norm": True,
    "attention_dropout": 0.0, "bos_token_id": 0, "classif_dropout": 0.0, "classifier_dropout": 0.0, "d_model": 16,
    "decoder_attention_heads": 4, "decoder_ffn_dim": 28, "decoder_layerdrop": 0.0, "decoder_layers": 1,
    "decoder_start_token_id": 2, "dropout": 0.1, "early_stopping": True, "encoder_attention_heads": 4,
    "encoder_ffn_dim": 28, "encoder_layerdrop": 0.0, "encoder_layers": 2, "eos_token_id": 2, "forced_eos_token_id": 2,
    "gradient_checkpointing": False, "init_std": 0.02, "is_encoder_decoder": True, "max_length": 200,
    "max_position_embeddings": 36, "model_max_length": 512, "normalize_before": True, "normalize_embedding": True,
    "num_beams": 5, "num_hidden_layers": 2, "output_past": True, "pad_token_id": 1, "scale_embedding": True,
    "static_position_embeddings": False, "tokenizer_class": "MBart50Tokenizer", "use_cache": True, "vocab_size": 60,
}
# mBART-25 has no forced language: its decoder starts with the code itself.
MBART_25 = {**MBART_50, "decoder_start_token_id": 56, "tokenizer_class": "MBartTokenizer"}
M2M_100 = {
    "architectures": ["M2M100ForConditionalGeneration"], "model_type": "m2m_100", "activation_dropout": 0.0,
    "activation_function": "relu", "attention_dropout": 0.1, "bos_token_id": 0, "d_model": 16,
    "decoder_attention_heads": 4, "decoder_ffn_dim": 28, "decoder_layerdrop": 0.0, "decoder_layers": 1,
    "decoder_start_token_id": 2, "dropout": 0.1, "early_stopping": True, "encoder_attention_heads": 4,
    "encoder_ffn_dim": 28, "encoder_layerdrop": 0.0, "encoder_layers": 2, "eos_token_id": 2, "init_std": 0.02,
    "is_encoder_decoder": True, "max_length": 200, "max_position_embeddings": 36, "num_beams": 5,
    "num_hidden_layers": 2, "pad_token_id": 1, "scale_embedding": True, "use_cache": True, "vocab_size": 66,
}
NLLB = {**M2M_100, "tokenizer_class": "NllbTokenizer", "vocab_size": 58}


def multilingual(forced, **more):
    return {"bos_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 2, "forced_bos_token_id": forced,
            "max_length": 200, "num_beams": 4, "pad_token_id": 1, "transformers_version": "4.49.0", **more}


MT5 = {
    **T5_1_1, "architectures": ["MT5ForConditionalGeneration"], "model_type": "mt5", "d_kv": 5, "num_heads": 4,
    "tokenizer_class": "T5Tokenizer",
}

ENCODER_DECODERS = [
    EncoderDecoder("marian", families.marian, MARIAN, seed=85, form="bin", loud=("final_logits_bias", 0),
                   extra=tied_copies, tokenizer=sentencepieces.marian, generation=MARIAN_GENERATION),
    EncoderDecoder("marian-apart", families.marian, MARIAN_APART, seed=58, dtype=torch.float16,
                   loud=("final_logits_bias", 0), tokenizer=sentencepieces.marian,
                   generation={**MARIAN_GENERATION, "bad_words_ids": [[57]], "decoder_start_token_id": 57}),
    EncoderDecoder("t5", families.t5, T5, seed=1, loud=("shared.weight", 1), extra=unused_cross_bias,
                   tokenizer=vocabularies.unigram("t5"), generation=T5_GENERATION),
    EncoderDecoder("t5-1.1", families.t5, T5_1_1, seed=3, loud=("lm_head.weight", 1), dtype=torch.bfloat16,
                   tokenizer=vocabularies.unigram("t5"), generation=T5_GENERATION),
    Encoder("t5-encoder", t5_encoder, {**T5_1_1, "architectures": ["T5EncoderModel"], "num_layers": 2}, last=1,
            tokenizer=vocabularies.unigram("t5")),
    EncoderDecoder("mt5", families.t5, MT5, seed=8, dtype=torch.bfloat16, loud=("lm_head.weight", 1),
                   tokenizer=vocabularies.unigram("t5"), generation=T5_GENERATION),
    EncoderDecoder("bart", families.bart, BART, seed=20, dtype=torch.float16, loud=("final_logits_bias", 2),
                   tokenizer=vocabularies.byte_level("roberta"), generation=BART_GENERATION, first=0),
    EncoderDecoder("mbart-50", families.bart, MBART_50, seed=14, dtype=torch.float16, loud=("final_logits_bias", 2),
                   tokenizer=vocabularies.unigram("mbart"), generation=multilingual(56, forced_eos_token_id=2),
                   first=57, reserved=6),
    EncoderDecoder("mbart-25", families.bart, MBART_25, seed=29, dtype=torch.float16, loud=("final_logits_bias", 2),
                   tokenizer=vocabularies.unigram("mbart"), last=57, reserved=6,
                   generation={"bos_token_id": 0, "decoder_start_token_id": 56, "eos_token_id": 2,
                               "forced_eos_token_id": 2, "max_length": 200, "num_beams": 4, "pad_token_id": 1,
                               "transformers_version": "4.49.0"}),
    EncoderDecoder("m2m-100", families.bart, M2M_100, seed=12, dtype=torch.float16, loud=("model.shared.weight", 2),
                   tokenizer=sentencepieces.m2m_100, generation=multilingual(55), first=56, reserved=11),
    EncoderDecoder("nllb", families.bart, NLLB, seed=11, dtype=torch.float32, loud=("model.shared.weight", 2),
                   tokenizer=vocabularies.nllb, generation=multilingual(54), first=55, reserved=6),
]
