"""The language models of GGUF files: settings that llama.cpp's metadata can say."""

import copy

import catalogue_decoders as source
import decoders
import decoders_other as other
import gguf_files
import torch
import vocabularies
from model import Decoder
from parts import Reading, in_eight_bits


class GgufDecoder(Decoder):
    """`cut` says how its tokenizer is written; `blocks` is the type of its matrices, where they are in blocks."""

    group = "gguf"

    def __init__(self, *arguments, cut, blocks=None, **settings):
        super().__init__(*arguments, **settings)
        self.cut, self.blocks = cut, blocks

    def store(self):
        if self.blocks is None:
            return super().store()
        store = super().store()
        self.function(self.config, store, lambda particular, right, wrong: right, self.cases[0]["ids"])
        for name, tensor in store.tensors.items():
            if tensor.dim() == 2:
                # Rows keep their order within a block of columns, so that they may be permuted afterwards.
                store.tensors[name] = gguf_files.in_blocks(tensor, self.blocks)[1]
        return store

    def more_outputs(self, store, case):
        if self.blocks != gguf_files.Q8_0:
            return {}
        rounding = copy.copy(store)
        rounding.inputs = in_eight_bits
        return {"logits_of_inputs_in_eight_bits": self.run(rounding, Reading(), case)["logits"]}

    def write_files(self, folder, store):
        gguf_files.write_model(folder / "model.gguf", self, store)


def gemma(c, w, read, ids):
    """Scores are by the head's width: the file does not say another scale."""
    def said(particular, right, wrong):
        return right if particular.startswith("scores by query_pre_attn_scalar") else read(particular, right, wrong)

    return other.gemma(c, w, said, ids)


GEMMA_2 = {**source.GEMMA_2, "query_pre_attn_scalar": 6}
GEMMA_3 = {**source.GEMMA_3, "query_pre_attn_scalar": 6}
IN_BLOCKS = {**source.LLAMA, "intermediate_size": 64, "rope_theta": 20000.0}

GGUF = [
    GgufDecoder("llama", decoders.llama, source.LLAMA_3, dtype=torch.bfloat16, cut="llama-bpe",
                tokenizer=vocabularies.byte_level("llama3")),
    GgufDecoder("llama-tied", decoders.llama, source.SMALL_LLAMA, cut="llama",
                tokenizer=vocabularies.sentencepiece_bpe("llama2")),
    GgufDecoder("llama-biases", decoders.llama,
                {**source.SMALL_LLAMA, "tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True,
                 "rope_scaling": {"factor": 2.5, "type": "linear"}},
                dtype=torch.float16, cut="llama", tokenizer=vocabularies.sentencepiece_bpe("llama2")),
    GgufDecoder("llama-q8_0", decoders.llama, IN_BLOCKS, cut="llama", blocks=gguf_files.Q8_0,
                tokenizer=vocabularies.sentencepiece_bpe("llama2")),
    GgufDecoder("llama-q4_0", decoders.llama, IN_BLOCKS, cut="llama", blocks=gguf_files.Q4_0,
                tokenizer=vocabularies.sentencepiece_bpe("llama2")),
    GgufDecoder("mistral", decoders.llama, source.MISTRAL, dtype=torch.bfloat16, cut="llama",
                tokenizer=vocabularies.sentencepiece_bpe("llama2")),
    GgufDecoder("qwen2", decoders.llama, source.QWEN2, dtype=torch.bfloat16, cut="qwen2",
                tokenizer=vocabularies.byte_level("qwen2")),
    GgufDecoder("qwen2-yarn", decoders.llama,
                {**source.QWEN2, "hidden_size": 32, "max_position_embeddings": 16384, "rope_scaling": source.YARN,
                 "rope_theta": 10000.0},
                dtype=torch.bfloat16, cut="qwen2", tokenizer=vocabularies.byte_level("qwen2")),
    GgufDecoder("qwen3", decoders.llama, source.QWEN3, dtype=torch.bfloat16, cut="qwen2",
                tokenizer=vocabularies.byte_level("qwen2")),
    GgufDecoder("gemma", other.gemma, source.GEMMA, dtype=torch.bfloat16, cut="llama",
                tokenizer=vocabularies.sentencepiece_bpe("gemma")),
    GgufDecoder("gemma-2", gemma, GEMMA_2, seed=2, dtype=torch.bfloat16, cut="llama",
                tokenizer=vocabularies.sentencepiece_bpe("gemma")),
    GgufDecoder("gemma-3", gemma, GEMMA_3, seed=23, dtype=torch.bfloat16, cut="llama",
                tokenizer=vocabularies.sentencepiece_bpe("gemma")),
    GgufDecoder("gpt2", decoders.gpt2, source.GPT2, cut="gpt-2", tokenizer=vocabularies.byte_level("gpt2")),
]
