"""The text encoders: their configurations, with the keys that the original library writes."""

import encoders
import torch
import vocabularies
from model import Encoder, Pipeline

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


ROBERTA = {
    **{key: value for key, value in BERT.items() if key != "max_position_embeddings"}, "model_type": "roberta",
    "bos_token_id": 0, "eos_token_id": 2, "max_position_embeddings": 38, "pad_token_id": 1, "type_vocab_size": 1,
}
XLM_ROBERTA = {**ROBERTA, "model_type": "xlm-roberta", "output_past": True}
DISTILBERT = {
    "model_type": "distilbert", "activation": "gelu", "attention_dropout": 0.1, "dim": 16, "dropout": 0.1,
    "hidden_dim": 28, "initializer_range": 0.02, "max_position_embeddings": 36, "n_heads": 4, "n_layers": 2,
    "pad_token_id": 0, "qa_dropout": 0.1, "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": False,
    "tie_weights_": True, "vocab_size": 54,
}
MPNET = {
    "model_type": "mpnet", "attention_probs_dropout_prob": 0.1, "bos_token_id": 0, "eos_token_id": 2,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 16, "initializer_range": 0.02,
    "intermediate_size": 28, "layer_norm_eps": 0.003, "max_position_embeddings": 38, "num_attention_heads": 4,
    "num_hidden_layers": 2, "pad_token_id": 1, "relative_attention_num_buckets": 32, "vocab_size": 54,
}
ELECTRA = {
    **BERT, "model_type": "electra", "embedding_size": 12, "summary_activation": "gelu",
    "summary_last_dropout": 0.1, "summary_type": "first", "summary_use_proj": True,
}
ALBERT = {
    "model_type": "albert", "attention_probs_dropout_prob": 0, "bos_token_id": 2, "classifier_dropout_prob": 0.1,
    "down_scale_factor": 1, "embedding_size": 12, "eos_token_id": 3, "gap_size": 0, "hidden_act": "gelu_new",
    "hidden_dropout_prob": 0, "hidden_size": 16, "initializer_range": 0.02, "inner_group_num": 1,
    "intermediate_size": 28, "layer_norm_eps": 0.003, "max_position_embeddings": 36, "net_structure_type": 0,
    "num_attention_heads": 4, "num_hidden_groups": 1, "num_hidden_layers": 3, "num_memory_blocks": 0,
    "pad_token_id": 0, "position_embedding_type": "absolute", "type_vocab_size": 2, "vocab_size": 54,
}
FEELINGS = labels("negative", "neutral", "positive")


def roberta(name, architecture, config=ROBERTA, more=None, tokenizer=vocabularies.byte_level("roberta"), **settings):
    config = {"architectures": [architecture], **config, **(more or {})}
    return Encoder(name, encoders.roberta, config, first=0, last=2, tokenizer=tokenizer, dtype=torch.float16,
                   **settings)


def other(name, function, architecture, config, more=None, **settings):
    config = {"architectures": [architecture], **config, **(more or {})}
    settings = {"tokenizer": vocabularies.wordpiece, "first": 2, "last": 3, "dtype": torch.float16, **settings}
    return Encoder(name, function, config, **settings)


ENCODERS = [
    bert("bert", "BertModel", extra=bert_positions),
    bert("bert-sequence", "BertForSequenceClassification", more=labels("negative", "neutral", "positive")),
    bert("bert-token", "BertForTokenClassification", more=labels("O", "B-PER", "I-PER", "B-LOC", "I-LOC"),
         dtype=torch.float16),
    bert("bert-masked", "BertForMaskedLM"),
    bert("bert-old", "BertForPreTraining", more={"layer_norm_eps": 1e-12, "architectures": ["BertForPreTraining"]},
         rename=gamma_and_beta, extra=next_sentence),
    roberta("roberta", "RobertaModel"),
    roberta("roberta-sequence", "RobertaForSequenceClassification", more=FEELINGS),
    roberta("roberta-masked", "RobertaForMaskedLM"),
    roberta("xlm-roberta", "XLMRobertaModel", XLM_ROBERTA, tokenizer=vocabularies.unigram("xlm-roberta")),
    roberta("xlm-roberta-token", "XLMRobertaForTokenClassification", XLM_ROBERTA, labels("O", "B-ORG", "I-ORG"),
            tokenizer=vocabularies.unigram("xlm-roberta")),
    other("distilbert", encoders.distilbert, "DistilBertModel", DISTILBERT),
    other("distilbert-sequence", encoders.distilbert, "DistilBertForSequenceClassification", DISTILBERT,
          labels("NEGATIVE", "POSITIVE")),
    other("distilbert-masked", encoders.distilbert, "DistilBertForMaskedLM", DISTILBERT),
    other("mpnet", encoders.mpnet, "MPNetModel", MPNET, first=0, last=2, tokenizer=vocabularies.mpnet),
    other("electra", encoders.electra, "ElectraForPreTraining", ELECTRA, types=True),
    other("electra-sequence", encoders.electra, "ElectraForSequenceClassification",
          {**ELECTRA, "embedding_size": 16}, FEELINGS, types=True),
    other("electra-masked", encoders.electra, "ElectraForMaskedLM", ELECTRA, types=True),
    other("albert", encoders.albert, "AlbertModel", ALBERT, types=True, tokenizer=vocabularies.unigram("albert")),
    other("albert-masked", encoders.albert, "AlbertForMaskedLM", ALBERT, types=True,
          tokenizer=vocabularies.unigram("albert")),
    Pipeline("sentence-minilm", encoders.bert, {**BERT, "architectures": ["BertModel"]}, "mean", first=2, last=3,
             tokenizer=vocabularies.wordpiece, dtype=torch.float16),
    Pipeline("sentence-cls", encoders.bert, {**BERT, "architectures": ["BertModel"]}, "cls", first=2, last=3,
             tokenizer=vocabularies.wordpiece, dtype=torch.float16,
             prompts={"query": "to the ", "document": ""}),
    Pipeline("sentence-dense", encoders.distilbert, {**DISTILBERT, "architectures": ["DistilBertModel"]}, "mean",
             dense=("2_Dense", 10), normalized=False, first=2, last=3, tokenizer=vocabularies.wordpiece,
             dtype=torch.float16),
    Pipeline("sentence-max", encoders.mpnet, {**MPNET, "architectures": ["MPNetModel"]}, "max", dense=("2_Dense", 20),
             first=0, last=2, tokenizer=vocabularies.mpnet, dtype=torch.float16),
]
