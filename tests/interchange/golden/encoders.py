"""Text encoders, each from its published definition: c is config.json, w the stored weights, read the readings.

A function returns the last layer's hidden rows, or what `c["architectures"]` adds to them.
"""

import torch
from encoder_decoders import t5_buckets
from parts import ACTIVATIONS, attend, embed, layer_norm, linear, split


# What a layer's parts are called in the files.
BERT_NAMES = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "o": "attention.output.dense",
    "attention norm": "attention.output.LayerNorm", "inner": "intermediate.dense", "outer": "output.dense",
    "last norm": "output.LayerNorm",
}
MPNET_NAMES = {
    **BERT_NAMES, "q": "attention.attn.q", "k": "attention.attn.k", "v": "attention.attn.v", "o": "attention.attn.o",
    "attention norm": "attention.LayerNorm",
}
DISTILBERT_NAMES = {
    "q": "attention.q_lin", "k": "attention.k_lin", "v": "attention.v_lin", "o": "attention.out_lin",
    "attention norm": "sa_layer_norm", "inner": "ffn.lin1", "outer": "ffn.lin2", "last norm": "output_layer_norm",
}
ALBERT_NAMES = {
    "q": "attention.query", "k": "attention.key", "v": "attention.value", "o": "attention.dense",
    "attention norm": "attention.LayerNorm", "inner": "ffn", "outer": "ffn_output",
    "last norm": "full_layer_layer_norm",
}


def norm_eps(c, read):
    if "layer_norm_eps" not in c:
        return read("norms' eps 1e-12, which no key says", 1e-12, 1e-5)
    return read("norms' eps", c["layer_norm_eps"], 1e-5 if c["layer_norm_eps"] != 1e-5 else 1e-12)


def layer(c, w, read, name, x, names=BERT_NAMES, bias=None):
    """Attention and feed-forward part, each with the norm after its sum; `bias` is added to the scores."""
    d = x.shape[-1]
    heads, inner = c.get("num_attention_heads") or c["n_heads"], c.get("intermediate_size") or c["hidden_dim"]
    eps = norm_eps(c, read)
    activation = c.get("hidden_act") or c["activation"]
    act = ACTIVATIONS[read("gelu by erf", activation, "gelu_new") if activation == "gelu"
                      else read("gelu_new is the tanh form", activation, "gelu")]
    after = read("norms after the sums", True, False)

    def attention(x):
        q, k, v = (split(linear(w, name + names[part], x, d), heads) for part in ("q", "k", "v"))
        scale = read("scores by 1/sqrt of the head's width", (d // heads) ** -0.5, d ** -0.5)
        return linear(w, name + names["o"], attend(q, k, v, scale, bias=bias), d)

    def feed_forward(x):
        return linear(w, name + names["outer"], act(linear(w, name + names["inner"], x, inner)), d)

    def sublayer(norm, x, function):
        if after:
            return layer_norm(w, name + norm, x + function(x), eps)
        return x + function(layer_norm(w, name + norm, x, eps))

    x = sublayer(names["attention norm"], x, attention)
    return sublayer(names["last norm"], x, feed_forward)


def embeddings(c, w, read, name, ids, types, width):
    """Words, positions and, where the family has them, types, normed."""
    places = torch.arange(len(ids))
    if c["model_type"] in ("roberta", "xlm-roberta", "mpnet"):
        places = read("the first position is row pad + 1", places + c["pad_token_id"] + 1, places)
    else:
        places = read("the first position is row 0", places, places + 2)
    x = embed(w, name + "word_embeddings.weight", c["vocab_size"], width, ids)
    x = x + embed(w, name + "position_embeddings.weight", c["max_position_embeddings"], width, places)
    if "type_vocab_size" in c:
        typed = torch.as_tensor(types)
        if typed.any():
            typed = read("token types", typed, torch.zeros_like(typed))
        kinds = embed(w, name + "token_type_embeddings.weight", c["type_vocab_size"], width, typed)
        x = x + read("token type rows are added, row 0's too", kinds, torch.zeros_like(kinds))
    return read("a norm after the embeddings", layer_norm(w, name + "LayerNorm", x, norm_eps(c, read)), x)


def pooled_by(w, read, name, x):
    dense = linear(w, name, x[0], x.shape[-1])
    return read("the pooler's tanh", dense.tanh(), dense)


def masked_head(c, w, read, x, dense, norm, table, bias, width=None, activation=None, eps=None):
    """Logits for each place: a dense layer, its activation, a norm, the embedding's table and a bias of its own."""
    width = width or x.shape[-1]
    act = ACTIVATIONS[read("the head's activation", activation or c["hidden_act"], "relu")]
    y = act(linear(w, dense, x, width))
    y = read("a norm in the head", layer_norm(w, norm, y, eps if eps is not None else norm_eps(c, read)), y)
    logits = y @ w(table, c["vocab_size"], width).T
    return read("the head's own bias", logits + w(bias, c["vocab_size"]), logits)


def bert_hidden(c, w, read, ids, types, prefix):
    x = embeddings(c, w, read, prefix + "embeddings.", ids, types, c.get("embedding_size") or c["hidden_size"])
    if x.shape[-1] != c["hidden_size"]:
        x = linear(w, prefix + "embeddings_project", x, c["hidden_size"])
    for i in range(c["num_hidden_layers"]):
        x = layer(c, w, read, f"{prefix}encoder.layer.{i}.", x)
    return x


def bert(c, w, read, ids, types):
    """{name: output}: of a model alone `hidden` and `pooled`, else `logits`."""
    kind = c["architectures"][0]
    prefix = "" if kind == "BertModel" else "bert."
    x = bert_hidden(c, w, read, ids, types, prefix)
    if kind == "BertModel":
        return {"hidden": x, "pooled": pooled_by(w, read, "pooler.dense", x)[None]}
    if kind == "BertForSequenceClassification":
        pooled = pooled_by(w, read, "bert.pooler.dense", x)
        pooled = read("the classifier sees the pooler's output", pooled, x[0])
        return {"logits": linear(w, "classifier", pooled, len(c["id2label"]))[None]}
    if kind == "BertForTokenClassification":
        return {"logits": linear(w, "classifier", x, len(c["id2label"]))}
    assert kind in ("BertForMaskedLM", "BertForPreTraining")
    name = "cls.predictions."
    return {"logits": masked_head(c, w, read, x, name + "transform.dense", name + "transform.LayerNorm",
                                  prefix + "embeddings.word_embeddings.weight", name + "bias")}


def roberta(c, w, read, ids, types):
    """RoBERTa and XLM-RoBERTa, whose types are all 0."""
    kind = c["architectures"][0]
    prefix = "" if kind.endswith("Model") else "roberta."
    x = bert_hidden(c, w, read, ids, types, prefix)
    if kind.endswith("Model"):
        return {"hidden": x, "pooled": pooled_by(w, read, "pooler.dense", x)[None]}
    if kind.endswith("SequenceClassification"):
        dense = linear(w, "classifier.dense", x[0], x.shape[-1])
        dense = read("the classifier's tanh", dense.tanh(), dense)
        return {"logits": linear(w, "classifier.out_proj", dense, len(c["id2label"]))[None]}
    if kind.endswith("TokenClassification"):
        return {"logits": linear(w, "classifier", x, len(c["id2label"]))}
    return {"logits": masked_head(c, w, read, x, "lm_head.dense", "lm_head.layer_norm",
                                  prefix + "embeddings.word_embeddings.weight", "lm_head.bias", activation="gelu")}


def distilbert(c, w, read, ids, types):
    kind = c["architectures"][0]
    prefix = "" if kind == "DistilBertModel" else "distilbert."
    x = embeddings(c, w, read, prefix + "embeddings.", ids, types, c["dim"])
    for i in range(c["n_layers"]):
        x = layer(c, w, read, f"{prefix}transformer.layer.{i}.", x, DISTILBERT_NAMES)
    if kind == "DistilBertModel":
        return {"hidden": x}
    if kind == "DistilBertForSequenceClassification":
        dense = linear(w, "pre_classifier", x[0], c["dim"])
        dense = read("the classifier's relu", dense.relu(), dense.tanh())
        return {"logits": linear(w, "classifier", dense, len(c["id2label"]))[None]}
    return {"logits": masked_head(c, w, read, x, "vocab_transform", "vocab_layer_norm",
                                  prefix + "embeddings.word_embeddings.weight", "vocab_projector.bias",
                                  activation=c["activation"])}


def mpnet(c, w, read, ids, types):
    """MPNet: no types, and a bias by distance that all layers share, beside positions."""
    kind = c["architectures"][0]
    prefix = "" if kind == "MPNetModel" else "mpnet."
    heads = c["num_attention_heads"]
    x = embeddings(c, w, read, prefix + "embeddings.", ids, types, c["hidden_size"])
    table = w(prefix + "encoder.relative_attention_bias.weight", c["relative_attention_num_buckets"], heads,
              deviation=1.0)
    farthest = read("buckets grow up to a distance of 128", 128, 20)
    bias = table[t5_buckets(read, len(ids), len(ids), True, 32, farthest)].permute(2, 0, 1)
    bias = read("a relative bias in every layer", bias, None)
    for i in range(c["num_hidden_layers"]):
        x = layer(c, w, read, f"{prefix}encoder.layer.{i}.", x, MPNET_NAMES, bias)
    if kind == "MPNetModel":
        return {"hidden": x, "pooled": pooled_by(w, read, "pooler.dense", x)[None]}
    return {"logits": masked_head(c, w, read, x, "lm_head.dense", "lm_head.layer_norm",
                                  prefix + "embeddings.word_embeddings.weight", "lm_head.bias", activation="gelu")}


def electra(c, w, read, ids, types):
    """No pooler; embeddings of another width than the layers are projected."""
    kind = c["architectures"][0]
    prefix = "" if kind == "ElectraModel" else "electra."
    x = bert_hidden(c, w, read, ids, types, prefix)
    d = x.shape[-1]
    if kind == "ElectraModel":
        return {"hidden": x}
    if kind == "ElectraForSequenceClassification":
        act = ACTIVATIONS[read("the classifier's gelu", "gelu", "gelu_new")]
        return {"logits": linear(w, "classifier.out_proj", act(linear(w, "classifier.dense", x[0], d)),
                                 len(c["id2label"]))[None]}
    if kind == "ElectraForPreTraining":
        name = "discriminator_predictions."
        act = ACTIVATIONS[read("the discriminator's activation", c["hidden_act"], "relu")]
        return {"logits": linear(w, name + "dense_prediction", act(linear(w, name + "dense", x, d)), 1)}
    return {"logits": masked_head(c, w, read, x, "generator_predictions.dense", "generator_predictions.LayerNorm",
                                  prefix + "embeddings.word_embeddings.weight", "generator_lm_head.bias",
                                  width=c["embedding_size"], activation="gelu")}


def albert(c, w, read, ids, types):
    """One layer's weights serve all layers; embeddings are narrower than the layers."""
    kind = c["architectures"][0]
    prefix = "" if kind == "AlbertModel" else "albert."
    x = embeddings(c, w, read, prefix + "embeddings.", ids, types, c["embedding_size"])
    x = linear(w, prefix + "encoder.embedding_hidden_mapping_in", x, c["hidden_size"])
    times = read("the layers of a group share their weights", c["num_hidden_layers"], 1)
    for _ in range(times):
        x = layer(c, w, read, prefix + "encoder.albert_layer_groups.0.albert_layers.0.", x, ALBERT_NAMES)
    if kind == "AlbertModel":
        return {"hidden": x, "pooled": pooled_by(w, read, "pooler", x)[None]}
    if kind == "AlbertForSequenceClassification":
        pooled = pooled_by(w, read, "albert.pooler", x)
        return {"logits": linear(w, "classifier", pooled, len(c["id2label"]))[None]}
    return {"logits": masked_head(c, w, read, x, "predictions.dense", "predictions.LayerNorm",
                                  prefix + "embeddings.word_embeddings.weight", "predictions.bias",
                                  width=c["embedding_size"])}


def sentence(function, pooling, dense=None, normalized=True):
    """A sentence-transformers pipeline: the rows that `function` gives, pooled by "mean", "cls" or "max"; then perhaps
    a dense layer, tensor names `linear.*` in its own folder `dense`, with tanh; then perhaps length 1."""
    def run(c, w, read, ids, types):
        # The model's own pooler is stored, but nothing here comes through it.
        x = function(c, w, lambda p, a, b: a if "pooler" in p else read(p, a, b), ids, types)["hidden"]
        pools = {"mean": x.mean(0), "cls": x[0], "max": x.max(0).values}
        other = "cls" if pooling != "cls" else "mean"
        y = read(f"pooling by {pooling}", pools[pooling], pools[other])
        if dense:
            y = linear(w, f"{dense[0]}/linear", y, dense[1])
            y = read("the dense layer's tanh", y.tanh(), y)
        if normalized:
            y = read("normalized to length 1", y / y.norm(), y)
        return {"hidden": x, "embedding": y[None]}
    return run
