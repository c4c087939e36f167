"""Every model: its class, its configuration, its tokenizer, how it is decoded."""

import collections

from tokenizer_files import (BERT_ROLES, BERT_SPECIALS, FAIRSEQ_ROLES, LLAMA_PIECES, T5_PIECES, T5_ROLES, byte_level,
                             llama3_form, m2m_files, marian_files, nllb_files, spm_kind, word_piece)

Family = collections.namedtuple("Family", "group name cls config make_config tokenizer dtype generation")
FAMILIES = []


def family(group, name, cls, config, arguments, tokenizer, dtype="float32", generation=None):
    FAMILIES.append(Family(group, name, cls, config, arguments, tokenizer, dtype, generation))


def rope(theta=10000.0, kind="default", **more):
    return {"rope_type": kind, "rope_theta": theta, **more}


GPT2_ROLES = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
GPT2_TOKENS = byte_level("GPT2Tokenizer", ["<|endoftext|>"], GPT2_ROLES, size=300, whole=True)
QWEN_TOKENS = byte_level("Qwen2Tokenizer", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                         {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "unk_token": None}, at_end=True)
NEOX_TOKENS = byte_level("GPTNeoXTokenizer", ["<|endoftext|>", "<|padding|>"], GPT2_ROLES)
ROBERTA_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
OPT_TOKENS = byte_level("GPT2Tokenizer", ["<s>", "<pad>", "</s>", "<unk>"],
                        {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"},
                        add_bos_token=True)
LLAMA_TOKENS = spm_kind("LlamaTokenizer", "tokenizer.model", LLAMA_PIECES,
                        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, "<s> $A",
                        legacy=False, add_bos_token=True, add_eos_token=False)
GEMMA_TOKENS = spm_kind("GemmaTokenizer", "tokenizer.model",
                        {**LLAMA_PIECES, "pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>",
                         "eos_piece": "<eos>"},
                        {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"},
                        "<bos> $A")

D = dict(hidden_size=32, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
         max_position_embeddings=256, rms_norm_eps=1e-5)

family("decoders", "llama", "LlamaForCausalLM", "LlamaConfig",
       dict(D, rope_parameters=rope(500000.0, "llama3", factor=8.0, high_freq_factor=4.0, low_freq_factor=1.0,
                                    original_max_position_embeddings=64)), llama3_form, "bfloat16")
family("decoders", "llama-linear", "LlamaForCausalLM", "LlamaConfig",
       dict(D, rope_parameters=rope(10000.0, "linear", factor=2.5), attention_bias=True, mlp_bias=True,
            tie_word_embeddings=True, num_key_value_heads=1), LLAMA_TOKENS, "float16")
family("decoders", "llama-yarn", "LlamaForCausalLM", "LlamaConfig",
       dict(D, rope_parameters=rope(10000.0, "yarn", factor=4.0, original_max_position_embeddings=64), head_dim=12),
       LLAMA_TOKENS, "bfloat16")
family("decoders", "mistral", "MistralForCausalLM", "MistralConfig",
       dict(D, sliding_window=6, head_dim=6, rope_parameters=rope(1000000.0)), LLAMA_TOKENS, "bfloat16")
family("decoders", "qwen2", "Qwen2ForCausalLM", "Qwen2Config",
       dict(D, rope_parameters=rope(1000000.0), tie_word_embeddings=True), QWEN_TOKENS, "bfloat16")
family("decoders", "qwen2-windows", "Qwen2ForCausalLM", "Qwen2Config",
       dict(D, num_hidden_layers=3, use_sliding_window=True, sliding_window=5, max_window_layers=1,
            rope_parameters=rope(1000000.0)), QWEN_TOKENS, "bfloat16")
family("decoders", "qwen2-yarn", "Qwen2ForCausalLM", "Qwen2Config",
       dict(D, rope_parameters=rope(1000000.0, "yarn", factor=4.0, original_max_position_embeddings=64)), QWEN_TOKENS,
       "bfloat16")
family("decoders", "qwen3", "Qwen3ForCausalLM", "Qwen3Config",
       dict(D, head_dim=12, rope_parameters=rope(1000000.0), tie_word_embeddings=True), QWEN_TOKENS, "bfloat16")
family("decoders", "phi-3", "Phi3ForCausalLM", "Phi3Config",
       dict(D, sliding_window=7, original_max_position_embeddings=256, pad_token_id=2, rope_parameters=rope(20000.0)),
       LLAMA_TOKENS, "bfloat16")
family("decoders", "gemma", "GemmaForCausalLM", "GemmaConfig",
       dict(D, head_dim=12, num_key_value_heads=1, rope_parameters=rope()), GEMMA_TOKENS, "bfloat16")
family("decoders", "gemma-2", "Gemma2ForCausalLM", "Gemma2Config",
       dict(D, num_hidden_layers=3, head_dim=12, query_pre_attn_scalar=20, sliding_window=6,
            attn_logit_softcapping=4.0, final_logit_softcapping=6.0, rope_parameters=rope()), GEMMA_TOKENS, "bfloat16")
family("decoders", "gemma-3", "Gemma3ForCausalLM", "Gemma3TextConfig",
       dict(D, num_hidden_layers=4, head_dim=12, query_pre_attn_scalar=20, sliding_window=6,
            layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters={"full_attention": rope(1000000.0, "linear", factor=2.0),
                             "sliding_attention": rope(10000.0)}), GEMMA_TOKENS, "bfloat16")
family("decoders", "gpt2", "GPT2LMHeadModel", "GPT2Config",
       dict(n_embd=16, n_layer=2, n_head=4, n_positions=64), GPT2_TOKENS)
family("decoders", "gpt2-inner", "GPT2LMHeadModel", "GPT2Config",
       dict(n_embd=16, n_layer=2, n_head=2, n_positions=64, n_inner=28, activation_function="gelu"),
       byte_level("GPT2Tokenizer", ["<|endoftext|>"], GPT2_ROLES), "float16")
NEOX = dict(hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=128, hidden_act="gelu")
family("decoders", "gpt-neox", "GPTNeoXForCausalLM", "GPTNeoXConfig",
       dict(NEOX, rope_parameters=rope(10000.0, partial_rotary_factor=0.25)), NEOX_TOKENS, "float16")
family("decoders", "gpt-neox-serial", "GPTNeoXForCausalLM", "GPTNeoXConfig",
       dict(NEOX, use_parallel_residual=False, rope_parameters=rope(10000.0, partial_rotary_factor=1.0)), NEOX_TOKENS,
       "float16")
OPT = dict(hidden_size=16, ffn_dim=28, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
           word_embed_proj_dim=16)
family("decoders", "opt", "OPTForCausalLM", "OPTConfig", OPT, OPT_TOKENS, "float16")
family("decoders", "opt-post", "OPTForCausalLM", "OPTConfig", dict(OPT, do_layer_norm_before=False), OPT_TOKENS)
STABLE = dict(hidden_size=32, intermediate_size=28, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
              max_position_embeddings=128, rope_parameters=rope(20000.0, partial_rotary_factor=0.5))
family("decoders", "stablelm", "StableLmForCausalLM", "StableLmConfig", dict(STABLE, use_qkv_bias=True), NEOX_TOKENS,
       "float16")
family("decoders", "stablelm-parallel", "StableLmForCausalLM", "StableLmConfig",
       dict(STABLE, use_parallel_residual=True, num_key_value_heads=4), NEOX_TOKENS, "float16")

BART = dict(d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=28, decoder_ffn_dim=28, max_position_embeddings=160)
BART_TOKENS = byte_level("BartTokenizer", ROBERTA_SPECIALS, FAIRSEQ_ROLES)
family("encoder_decoders", "bart", "BartForConditionalGeneration", "BartConfig", BART, BART_TOKENS, "float16",
       dict(num_beams=4, forced_bos_token_id="<s>", forced_eos_token_id="</s>", no_repeat_ngram_size=3,
            early_stopping=True, length_penalty=2.0, min_length=3, max_length=18))
family("encoder_decoders", "mbart-25", "MBartForConditionalGeneration", "MBartConfig",
       dict(BART, scale_embedding=True, decoder_layers=1),
       spm_kind("MBartTokenizer", "sentencepiece.bpe.model", {}, src_lang="en_XX", tgt_lang="de_DE"), "float16",
       dict(num_beams=5, early_stopping=True, decoder_start_token_id="de_DE", forced_eos_token_id="</s>",
            max_length=16))
family("encoder_decoders", "mbart-50", "MBartForConditionalGeneration", "MBartConfig",
       dict(BART, scale_embedding=True),
       spm_kind("MBart50Tokenizer", "sentencepiece.bpe.model", {}, src_lang="en_XX", tgt_lang="de_DE"), "float16",
       dict(num_beams=5, early_stopping=True, decoder_start_token_id="</s>", forced_bos_token_id="de_DE",
            forced_eos_token_id="</s>", max_length=16))
family("encoder_decoders", "marian", "MarianMTModel", "MarianConfig",
       dict(BART, scale_embedding=True, activation_function="swish"), marian_files(False), "float16",
       dict(num_beams=4, decoder_start_token_id="<pad>", bad_words_ids=["<pad>"], forced_eos_token_id="</s>",
            max_length=20))
family("encoder_decoders", "marian-apart", "MarianMTModel", "MarianConfig",
       dict(BART, scale_embedding=True, activation_function="relu", share_encoder_decoder_embeddings=False,
            decoder_layers=1), marian_files(True), "float16",
       dict(num_beams=6, decoder_start_token_id="<pad>", bad_words_ids=["<pad>"], max_length=20))
family("encoder_decoders", "m2m-100", "M2M100ForConditionalGeneration", "M2M100Config",
       dict(BART, scale_embedding=True, activation_function="relu"), m2m_files, "float16",
       dict(num_beams=5, early_stopping=True, decoder_start_token_id="</s>", forced_bos_token_id="__de__",
            max_length=16))
family("encoder_decoders", "nllb", "M2M100ForConditionalGeneration", "M2M100Config",
       dict(BART, scale_embedding=True, activation_function="relu", decoder_layers=1),
       nllb_files, "float16",
       dict(num_beams=1, decoder_start_token_id="</s>", forced_bos_token_id="deu_Latn", max_length=16))
family("encoder_decoders", "pegasus", "PegasusForConditionalGeneration", "PegasusConfig",
       dict(BART, scale_embedding=True, activation_function="relu"),
       spm_kind("PegasusTokenizer", "spiece.model", dict(T5_PIECES), T5_ROLES, "$A </s>"), "float16",
       dict(num_beams=8, length_penalty=0.8, decoder_start_token_id="<pad>", forced_eos_token_id="</s>",
            max_length=14))
T5 = dict(d_model=16, d_kv=6, d_ff=28, num_layers=2, num_decoder_layers=2, num_heads=3,
          relative_attention_num_buckets=8, relative_attention_max_distance=20)
T5_TOKENS = spm_kind("T5Tokenizer", "spiece.model", dict(T5_PIECES), T5_ROLES, "$A </s>", extra_ids=3)
family("encoder_decoders", "t5", "T5ForConditionalGeneration", "T5Config", dict(T5, feed_forward_proj="relu"),
       T5_TOKENS, "float32", dict(decoder_start_token_id="<pad>"))
family("encoder_decoders", "t5-1.1", "T5ForConditionalGeneration", "T5Config",
       dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1), T5_TOKENS,
       "bfloat16", dict(decoder_start_token_id="<pad>"))
family("encoder_decoders", "mt5", "MT5ForConditionalGeneration", "MT5Config",
       dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), T5_TOKENS, "bfloat16",
       dict(decoder_start_token_id="<pad>"))

BERT = dict(hidden_size=16, intermediate_size=28, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=160)
FEELINGS = dict(id2label={0: "negative", 1: "neutral", 2: "positive"},
                label2id={"negative": 0, "neutral": 1, "positive": 2})
BERT_TOKENS = word_piece("BertTokenizer", BERT_SPECIALS, BERT_ROLES)
for head, more in (("Model", {}), ("ForSequenceClassification", FEELINGS), ("ForTokenClassification", FEELINGS),
                   ("ForMaskedLM", {})):
    tail = {"Model": "", "ForSequenceClassification": "-sequence", "ForTokenClassification": "-token",
            "ForMaskedLM": "-masked"}[head]
    family("encoders", "bert" + tail, "Bert" + head, "BertConfig", dict(BERT, **more), BERT_TOKENS)
    family("encoders", "roberta" + tail, "Roberta" + head, "RobertaConfig", dict(BERT, type_vocab_size=1, **more),
           byte_level("RobertaTokenizer", ROBERTA_SPECIALS, FAIRSEQ_ROLES), "float16")
    family("encoders", "xlm-roberta" + tail, "XLMRoberta" + head, "XLMRobertaConfig",
           dict(BERT, type_vocab_size=1, **more),
           spm_kind("XLMRobertaTokenizer", "sentencepiece.bpe.model", dict(normalization_rule_name="nmt_nfkc"),
                    FAIRSEQ_ROLES, "<s> $A </s>"), "float16")
    family("encoders", "distilbert" + tail, "DistilBert" + head, "DistilBertConfig",
           dict(dim=16, hidden_dim=28, n_layers=2, n_heads=4, max_position_embeddings=160, **more),
           word_piece("DistilBertTokenizer", BERT_SPECIALS, BERT_ROLES), "float16")
    family("encoders", "electra" + tail, "Electra" + head, "ElectraConfig", dict(BERT, embedding_size=12, **more),
           word_piece("ElectraTokenizer", BERT_SPECIALS, BERT_ROLES), "float16")
    family("encoders", "albert" + tail, "Albert" + head, "AlbertConfig",
           dict(BERT, embedding_size=12, hidden_act="gelu_new", num_hidden_layers=3, **more),
           spm_kind("AlbertTokenizer", "spiece.model",
                    dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, user_defined_symbols=["(", ")"],
                         control_symbols=["[CLS]", "[SEP]", "[MASK]"]),
                    {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]",
                     "mask_token": "[MASK]"}, "[CLS] $A [SEP]"), "float16")
    family("encoders", "mpnet" + tail, "MPNet" + head, "MPNetConfig", dict(BERT, **more),
           word_piece("MPNetTokenizer", ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"],
                      {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "[UNK]", "pad_token": "<pad>",
                       "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}), "float16")
family("encoders", "t5-encoder", "T5EncoderModel", "T5Config", dict(T5, feed_forward_proj="gated-gelu"), T5_TOKENS,
       "bfloat16")
