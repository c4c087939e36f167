"""Text encoders, each from its published definition: c is config.json, w the stored weights, read the readings.

A function returns the last layer's hidden rows, or what `c["architectures"]` adds to them.
"""

import torch
from parts import ACTIVATIONS, attend, embed, layer_norm, linear, split


def bert_layer(c, w, read, name, x):
    """Norms after the sums; names as in BERT, RoBERTa, XLM-RoBERTa and ELECTRA."""
    d, heads = c["hidden_size"], c["num_attention_heads"]
    eps = read("norms' eps", c["layer_norm_eps"], 1e-5 if c["layer_norm_eps"] != 1e-5 else 1e-12)
    act = ACTIVATIONS[read("gelu by erf", c["hidden_act"], "gelu_new")]
    after = read("norms after the sums", True, False)

    def branch_of_attention(x):
        q, k, v = (split(linear(w, f"{name}attention.self.{part}", x, d), heads) for part in ("query", "key", "value"))
        scale = read("scores by 1/sqrt of the head's width", (d // heads) ** -0.5, d ** -0.5)
        return linear(w, name + "attention.output.dense", attend(q, k, v, scale), d)

    def feed_forward(x):
        y = act(linear(w, name + "intermediate.dense", x, c["intermediate_size"]))
        return linear(w, name + "output.dense", y, d)

    def sublayer(norm, x, function):
        if after:
            return layer_norm(w, name + norm, x + function(x), eps)
        return x + function(layer_norm(w, name + norm, x, eps))

    x = sublayer("attention.output.LayerNorm", x, branch_of_attention)
    return sublayer("output.LayerNorm", x, feed_forward)


def bert_embeddings(c, w, read, name, ids, types, width):
    n = len(ids)
    eps = read("norms' eps", c["layer_norm_eps"], 1e-5 if c["layer_norm_eps"] != 1e-5 else 1e-12)
    places = torch.arange(n)
    if c["model_type"] in ("roberta", "xlm-roberta"):
        pad = c["pad_token_id"]
        right = places + pad + 1
        places = read("the first position is row pad + 1", right, places)
    else:
        places = read("the first position is row 0", places, places + 2)
    x = embed(w, name + "word_embeddings.weight", c["vocab_size"], width, ids)
    x = x + embed(w, name + "position_embeddings.weight", c["max_position_embeddings"], width, places)
    typed = torch.as_tensor(types)
    if typed.any():
        typed = read("token types", typed, torch.zeros_like(typed))
    kinds = embed(w, name + "token_type_embeddings.weight", c["type_vocab_size"], width, typed)
    x = x + read("token type rows are added, row 0's too", kinds, torch.zeros_like(kinds))
    return read("a norm after the embeddings", layer_norm(w, name + "LayerNorm", x, eps), x)


def bert_hidden(c, w, read, ids, types, prefix):
    x = bert_embeddings(c, w, read, prefix + "embeddings.", ids, types, c["hidden_size"])
    for i in range(c["num_hidden_layers"]):
        x = bert_layer(c, w, read, f"{prefix}encoder.layer.{i}.", x)
    return x


def bert_pooled(w, read, prefix, x):
    dense = linear(w, prefix + "pooler.dense", x[0], x.shape[-1])
    return read("the pooler's tanh", dense.tanh(), dense)


def bert(c, w, read, ids, types):
    """{name: output}: of a model alone `hidden` and `pooled`, else `logits`."""
    kind = c["architectures"][0]
    prefix = "" if kind == "BertModel" else "bert."
    x = bert_hidden(c, w, read, ids, types, prefix)
    if kind == "BertModel":
        return {"hidden": x, "pooled": bert_pooled(w, read, prefix, x)[None]}
    if kind == "BertForSequenceClassification":
        pooled = bert_pooled(w, read, prefix, x)
        pooled = read("the classifier sees the pooler's output", pooled, x[0])
        return {"logits": linear(w, "classifier", pooled, len(c["id2label"]))[None]}
    if kind == "BertForTokenClassification":
        return {"logits": linear(w, "classifier", x, len(c["id2label"]))}
    assert kind in ("BertForMaskedLM", "BertForPreTraining")
    name = "cls.predictions."
    act = ACTIVATIONS[read("the head's activation", c["hidden_act"], "relu")]
    y = act(linear(w, name + "transform.dense", x, c["hidden_size"]))
    y = read("a norm in the head", layer_norm(w, name + "transform.LayerNorm", y, c["layer_norm_eps"]), y)
    logits = y @ w(prefix + "embeddings.word_embeddings.weight", c["vocab_size"], c["hidden_size"]).T
    return {"logits": read("the head's own bias", logits + w(name + "bias", c["vocab_size"]), logits)}
