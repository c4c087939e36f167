"""The text encoders: their configurations, with the keys that the original library writes."""

import encoders
import torch
import vocabularies
from model import Encoder

BERT = {
    "model_type": "bert", "attention_probs_dropout_prob": 0.1, "classifier_dropout": None, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "hidden_size": 16, "initializer_range": 0.02, "intermediate_size": 28,
    "layer_norm_eps": 0.003, "max_position_embeddings": 36, "num_attention_heads": 4, "num_hidden_layers": 2,
    "pad_token_id": 0, "position_embedding_type": "absolute", "type_vocab_size": 2, "use_cache": True, "vocab_size": 54,
}


def labels(*names):
    return {"id2label": {str(i): name for i, name in enumerate(names)}, "label2id": {n: i for i, n in enumerate(names)}}


def bert(name, architecture, config=BERT, more=None, **settings):
    config = {"architectures": [architecture], **config, **(more or {})}
    return Encoder(name, encoders.bert, config, types=True, first=2, last=3, tokenizer=vocabularies.wordpiece,
                   **settings)


def gamma_and_beta(name):
    """As the first checkpoints, converted from TensorFlow, name the norms' parameters."""
    return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


def next_sentence(config, tensors):
    d = config["hidden_size"]
    return {"bert.pooler.dense.weight": torch.eye(d), "bert.pooler.dense.bias": torch.zeros(d),
            "cls.seq_relationship.weight": torch.ones(2, d), "cls.seq_relationship.bias": torch.zeros(2)}


def bert_positions(config, tensors):
    """The buffer that checkpoints of transformers before 4.31 carry."""
    return {"embeddings.position_ids": torch.arange(config["max_position_embeddings"])[None]}


ENCODERS = [
    bert("bert", "BertModel", extra=bert_positions),
    bert("bert-sequence", "BertForSequenceClassification", more=labels("negative", "neutral", "positive")),
    bert("bert-token", "BertForTokenClassification", more=labels("O", "B-PER", "I-PER", "B-LOC", "I-LOC"),
         dtype=torch.float16),
    bert("bert-masked", "BertForMaskedLM"),
    bert("bert-old", "BertForPreTraining", more={"layer_norm_eps": 1e-12, "architectures": ["BertForPreTraining"]},
         rename=gamma_and_beta, extra=next_sentence),
]
