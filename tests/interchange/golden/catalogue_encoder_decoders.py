"""The encoder-decoders: their configurations, with the keys that the original library writes."""

import encoder_decoders as families
import torch
import vocabularies
from model import Encoder, EncoderDecoder

MARIAN = {
    "architectures": ["MarianMTModel"], "model_type": "marian", "_num_labels": 3, "activation_dropout": 0.0,
    "activation_function": "swish", "add_bias_logits": False, "add_final_layer_norm": False, "attention_dropout": 0.0,
    "bad_words_ids": [[53]], "bos_token_id": 0, "classif_dropout": 0.0, "classifier_dropout": 0.0, "d_model": 16,
    "decoder_attention_heads": 4, "decoder_ffn_dim": 28, "decoder_layerdrop": 0.0, "decoder_layers": 1,
    "decoder_start_token_id": 53, "decoder_vocab_size": 54, "dropout": 0.1, "encoder_attention_heads": 2,
    "encoder_ffn_dim": 24, "encoder_layerdrop": 0.0, "encoder_layers": 2, "eos_token_id": 0, "forced_eos_token_id": 0,
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


ENCODER_DECODERS = [
    EncoderDecoder("marian", families.marian, MARIAN, form="bin", loud=("final_logits_bias", 0), extra=tied_copies,
                   tokenizer=vocabularies.marian, generation=MARIAN_GENERATION),
    EncoderDecoder("marian-apart", families.marian, MARIAN_APART, dtype=torch.float16, loud=("final_logits_bias", 0),
                   tokenizer=vocabularies.marian,
                   generation={**MARIAN_GENERATION, "bad_words_ids": [[57]], "decoder_start_token_id": 57}),
    EncoderDecoder("t5", families.t5, T5, loud=("shared.weight", 1), extra=unused_cross_bias,
                   tokenizer=vocabularies.unigram("t5"), generation=T5_GENERATION),
    EncoderDecoder("t5-1.1", families.t5, T5_1_1, loud=("lm_head.weight", 1), dtype=torch.bfloat16,
                   tokenizer=vocabularies.unigram("t5"), generation=T5_GENERATION),
    Encoder("t5-encoder", t5_encoder, {**T5_1_1, "architectures": ["T5EncoderModel"], "num_layers": 2}, last=1,
            tokenizer=vocabularies.unigram("t5")),
]
