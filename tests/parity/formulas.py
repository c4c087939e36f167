"""Any model that a heed configuration describes, written out from its formulas: one oracle for all settings.

oracles.py has PyTorch's own layers and the models that others made known; here are the settings that those lack, and
what several of them do together.
"""

import math

import oracles
from oracles import (FEATURES, Oracle, RmsNorm, attend, distances, join_heads, pooled, rotate, sees_back, soft_capped,
                     split_heads)

import torch
from torch import nn
from torch.nn import functional

DEFAULTS = {
    "activation": "relu", "gated": False, "rotary_base": 10000.0, "rotary_width": 0, "relative_clip": 16,
    "attention": ["full"], "linear_feature": "elu", "norm": "layer", "branches": "sequential", "embedding_norm": False,
    "qk_norm": "none", "epsilon": 1e-5, "bias": True, "attention_bias": "default", "feed_forward_bias": "default",
    "norm_bias": "default", "output_bias": True, "logit_cap": 0.0, "attention_cap": 0.0, "token_types": 0,
    "head": "tokens", "pooling": "first", "labels": [], "sinusoid": "interleaved", "position_offset": 0,
    "autoregression": "attention", "head_layer": "none", "head_layer_norm": False, "embedding_width": 0, "shared_layers": False,
    "attention_scale": 0.0, "output_scale": 1.0, "norm_gain": "plain", "value_embeddings": 0, "skips": False,
    "bigrams": 0,
}
ACTIVATIONS = {"linear": lambda x: x, "tanh": torch.tanh, "relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu,
               "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh"),
               "relu-squared": lambda x: torch.relu(x) ** 2}


def complete(config):
    """With every setting, and none that stands for another."""
    c = {**DEFAULTS, **config}
    c.setdefault("head_width", c["model"] // c["heads"])
    c.setdefault("value_width", c["head_width"])
    c.setdefault("key_value_heads", c["heads"])
    c["embedding_width"] = c["embedding_width"] or c["model"]
    return c


def has_bias(c, part):
    """`part` is "norm", "feed_forward", or "attention" for its output."""
    return {"default": c["bias"], "none": False, "inputs": False, "all": True}[c[part + "_bias"]]


class GainAboveOne(nn.Module):
    """Of a norm with gain w: one with the gain 1 + w."""

    def __init__(self, norm, epsilon):
        super().__init__()
        self.norm, self.epsilon, self.is_rms = norm, epsilon, isinstance(norm, RmsNorm)
        self.weight, self.bias = norm.weight, getattr(norm, "bias", None)

    def forward(self, x):
        centred = x if self.is_rms else x - x.mean(dim=-1, keepdim=True)
        return self.norm(x) + centred / ((centred * centred).mean(dim=-1, keepdim=True) + self.epsilon).sqrt()


class GainOfEachHead(nn.Module):
    """Each head is normalized on its own, and has gains of its own; no bias."""

    def __init__(self, c, heads):
        super().__init__()
        self.c, self.heads, self.weight = c, heads, nn.Parameter(torch.empty(heads * c["head_width"]))

    def forward(self, x):
        x = x if self.c["norm"] == "rms" else x - x.mean(dim=-1, keepdim=True)
        gain = self.weight.view(self.heads, 1, -1) + (1.0 if self.c["norm_gain"] == "plus-one" else 0.0)
        return x / ((x * x).mean(dim=-1, keepdim=True) + self.c["epsilon"]).sqrt() * gain


def make_norm(c, width):
    norm = make_plain_norm(c, width)
    return GainAboveOne(norm, c["epsilon"]) if c["norm_gain"] == "plus-one" else norm


def make_plain_norm(c, width):
    if c["norm"] == "rms":
        return RmsNorm(width, c["epsilon"])
    norm = nn.LayerNorm(width, eps=c["epsilon"])
    if not has_bias(c, "norm"):
        norm.bias = None
    return norm


def make_gain(c, width):
    """A norm without a bias, whose gains are what they are."""
    return make_plain_norm({**c, "norm_bias": "none"}, width)


def by_query(c, query, keys):
    """What `keys`, an embedding of each distance, add to the scores of pairs: q . a / sqrt(d)."""
    return torch.einsum("bhid,ijd->bhij", query, keys) * (c["attention_scale"] or c["head_width"] ** -0.5)


def attend_linearly(query, key, value, sees, features):
    """Weights phi(q) . phi(k) over what each query sees, divided by their sum."""
    weights = (features(query) @ features(key).transpose(-2, -1)).masked_fill(~sees, 0.0)
    return weights / weights.sum(dim=-1, keepdim=True) @ value


class Attention(nn.Module):
    """`pattern` is that of self-attention; cross-attention has none, and knows no positions."""

    def __init__(self, c, pattern=None, both_ways=False):
        super().__init__()
        self.c, self.pattern, self.both_ways = c, pattern, both_ways
        model, heads, groups, width = c["model"], c["heads"], c["key_value_heads"], c["head_width"]
        inputs = has_bias(c, "attention") or c["attention_bias"] == "inputs"
        self.query = nn.Linear(model, heads * width, bias=inputs)
        self.key = nn.Linear(model, groups * width, bias=inputs)
        self.value = nn.Linear(model, groups * c["value_width"], bias=inputs)
        self.joined = nn.Linear(heads * c["value_width"], model, bias=has_bias(c, "attention"))
        if c["qk_norm"] != "none":
            of_all = c["qk_norm"] == "all"
            self.query_norm = make_norm(c, heads * width if of_all else width)
            self.key_norm = make_norm(c, groups * width if of_all else width)
        if c["qk_norm"] == "head-gains":
            self.query_norm, self.key_norm = GainOfEachHead(c, heads), GainOfEachHead(c, groups)
        self.own_rows = None  # of each token, in a table
        if pattern and c["value_embeddings"]:
            self.value_norm = make_gain(c, groups * c["value_width"])
        if pattern and c["positions"].startswith("relative-keys"):
            count = (2 if both_ways else 1) * c["relative_clip"] + 1
            self.relative_keys = nn.Parameter(torch.empty(count, width))
            if c["positions"] == "relative-keys-values":
                self.relative_values = nn.Parameter(torch.empty(c["value_width"], count))

    def add_to(self, oracle, name):
        if self.pattern:
            oracle.add_linear(name + ".projection", self.query, self.key, self.value)
        else:
            oracle.add_linear(name + ".query", self.query)
            oracle.add_linear(name + ".key_value", self.key, self.value)
        oracle.add_linear(name + ".output", self.joined)
        for norm in ("query_norm", "key_norm"):
            if hasattr(self, norm):
                oracle.add_norm(f"{name}.{norm}", getattr(self, norm))
        if hasattr(self, "value_norm"):
            oracle.add_norm(f"{name}.value_embedding_norm", self.value_norm)
        for embeddings in ("relative_keys", "relative_values"):
            if hasattr(self, embeddings):
                oracle.add(f"{name}.{embeddings}", getattr(self, embeddings))

    def heads_of(self, x, heads, norm):
        if self.c["qk_norm"] == "all":
            return split_heads(getattr(self, norm)(x), heads)
        x = split_heads(x, heads)
        return getattr(self, norm)(x) if self.c["qk_norm"] != "none" else x

    def forward(self, x, read, sees, bias=0.0):
        """Of rows `x`, from those of `read`; `sees` is [batch, head, query, key]."""
        c, groups = self.c, self.c["key_value_heads"]
        query = self.heads_of(self.query(x), c["heads"], "query_norm")
        key = self.heads_of(self.key(read), groups, "key_norm")
        value = self.value(read)
        if hasattr(self, "value_norm"):
            value = value + self.value_norm(self.own_rows)
        value = split_heads(value, groups)
        if self.pattern and c["positions"] == "rotary":
            query, key = (rotate(part, c["rotary_base"], c) for part in (query, key))
        key, value = (part.repeat_interleave(c["heads"] // groups, dim=1) for part in (key, value))
        if self.pattern == "linear":
            return self.joined(join_heads(attend_linearly(query, key, value, sees, FEATURES[c["linear_feature"]])))
        options = {"scale": c["attention_scale"]}
        if hasattr(self, "relative_keys"):
            clip = c["relative_clip"]
            row = distances(x.shape[1]).clamp(-clip, clip if self.both_ways else 0) + clip
            bias = by_query(c, query, self.relative_keys[row])
            if hasattr(self, "relative_values"):
                options["relative_values"] = self.relative_values.T[row]
        return self.joined(join_heads(attend(query, key, value, sees, bias, c["attention_cap"], **options)))


class Ssru(nn.Module):
    """Kim et al. (2019): c[t] = f[t] c[t-1] + (1 - f[t]) W x[t], where f[t] = sigmoid(W_f x[t] + b); relu(c) goes on."""

    pattern = "full"

    def __init__(self, c):
        super().__init__()
        has = has_bias(c, "attention") or c["attention_bias"] == "inputs"
        self.forget = nn.Linear(c["model"], c["model"], bias=has)
        self.candidate = nn.Linear(c["model"], c["model"], bias=False)

    def add_to(self, oracle, name):
        oracle.add(name + ".projection.weight", self.forget.weight, self.candidate.weight)
        if self.forget.bias is not None:
            oracle.add(name + ".gate_bias", self.forget.bias)

    def forward(self, x, *_):
        forget, candidate = torch.sigmoid(self.forget(x)), self.candidate(x)
        cell, cells = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            cell = forget[:, t] * cell + (1 - forget[:, t]) * candidate[:, t]
            cells.append(cell)
        return functional.relu(torch.stack(cells, dim=1))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        bias = has_bias(c, "feed_forward")
        self.activation = ACTIVATIONS[c["activation"]]
        self.gate = nn.Linear(c["model"], c["inner"], bias=bias) if c["gated"] else None
        self.up, self.down = nn.Linear(c["model"], c["inner"], bias=bias), nn.Linear(c["inner"], c["model"], bias=bias)

    def add_to(self, oracle, name):
        oracle.add_linear(name + ".inner", *([self.gate] if self.gate else []), self.up)
        oracle.add_linear(name + ".output", self.down)

    def forward(self, x):
        return self.down(self.activation(self.gate(x)) * self.up(x) if self.gate else self.activation(self.up(x)))


class Residual(nn.Module):
    """x + f(x), with norms where norm_placement has them."""

    def __init__(self, c):
        super().__init__()
        self.placement = c["norm_placement"]
        if self.placement != "branch":
            self.norm = make_norm(c, c["model"])
        if self.placement in ("sandwich", "branch"):
            self.branch_norm = make_norm(c, c["model"])

    def add_to(self, oracle, name):
        for norm in ("norm", "branch_norm"):
            if hasattr(self, norm):
                oracle.add_norm(f"{name}.{norm}", getattr(self, norm))

    def forward(self, x, f):
        if self.placement == "post":
            return self.norm(x + f(x))
        branch = f(x if self.placement == "branch" else self.norm(x))
        return x + (branch if self.placement == "pre" else self.branch_norm(branch))


class Layer(nn.Module):
    """Self-attention, cross-attention where it `reads_memory`, and feed-forward."""

    def __init__(self, c, pattern, both_ways, reads_memory):
        super().__init__()
        self.parallel = c["branches"] == "parallel"
        recurrent = reads_memory and c["autoregression"] == "ssru"
        self.attention = Ssru(c) if recurrent else Attention(c, pattern, both_ways)
        self.around_attention = Residual(c)
        self.cross, self.around_cross = (Attention(c), Residual(c)) if reads_memory else (None, None)
        self.feed_forward, self.around_feed_forward = FeedForward(c), None if self.parallel else Residual(c)

    def add_to(self, oracle, name):
        parts = {"self_attention" if self.cross else "attention": (self.attention, self.around_attention),
                 "cross_attention": (self.cross, self.around_cross),
                 "feed_forward": (self.feed_forward, self.around_feed_forward)}
        for part, modules in parts.items():
            for module in modules:
                if module is not None:
                    module.add_to(oracle, f"{name}.{part}")

    def forward(self, x, sees, bias, memory, sees_memory):
        if self.parallel:
            return self.around_attention(x, lambda y: self.attention(y, y, sees, bias) + self.feed_forward(y))
        x = self.around_attention(x, lambda y: self.attention(y, y, sees, bias))
        if self.cross:
            x = self.around_cross(x, lambda y: self.cross(y, memory, sees_memory))
        return self.around_feed_forward(x, self.feed_forward)


def visible(rectangle, pattern, heads, both_ways):
    """[batch, head, query, key]: real keys that the pattern shows, in equal parts of the heads. A row of padding sees
    itself, so that it holds no NaN that would reach the gradients as 0 * NaN."""
    back = -distances(rectangle.width)
    away = back.abs() if both_ways else back
    parts = ["full"] if pattern == "linear" else pattern.split("+")
    shows = torch.stack([sees_back(part, away) for part in parts])
    shows = shows.repeat_interleave(heads // len(parts), dim=0)
    return (shows[None] & rectangle.real()[:, None, None, :]) | (back == 0)


class Stack(nn.Module):
    def __init__(self, c, oracle, name, reads_memory=False):
        super().__init__()
        self.c, self.both_ways, self.name = c, name == "encoder", name
        patterns, count = c["attention"], c[name + "_layers"]
        own = 1 if c["shared_layers"] else count
        self.layers, self.times = nn.ModuleList(
            Layer(oracles.of_layer(c, i), patterns[i % len(patterns)], self.both_ways, reads_memory)
            for i in range(own)), count // own
        self.norm = make_norm(c, c["model"]) if c["final_norm"] else None
        for i, layer in enumerate(self.layers):
            layer.add_to(oracle, f"{name}.layers.{i}")
        self.make_skips(oracle)
        self.make_value_tables(oracle)
        if self.norm:
            oracle.add_norm(name + ".norm", self.norm)
        if c["positions"].endswith("relative-bias"):
            self.relative_bias = nn.Embedding(c["relative_buckets"], c["heads"])
            oracle.add(name + ".relative_bias", self.relative_bias.weight)

    def make_skips(self, oracle):
        """By the layers that add them: the norms of what the mirrored layers left."""
        last = len(self.layers) - 1
        adding = [i for i in range(last + 1) if self.c["skips"] and last - i < i - 1]
        self.skips = nn.ModuleDict({str(i): make_gain(self.c, self.c["model"]) for i in adding})
        for i, norm in self.skips.items():
            oracle.add_norm(f"{self.name}.layers.{i}.skip", norm)

    def make_value_tables(self, oracle):
        c = self.c
        numbers = c["value_embeddings"] if isinstance(c["value_embeddings"], list) else [c["value_embeddings"]]
        rows = c["source_vocabulary" if self.name == "encoder" else "target_vocabulary"]
        self.numbers = [numbers[i % len(numbers)] for i in range(len(self.layers))]
        used = sorted(set(self.numbers) - {0})
        self.value_tables = nn.ModuleDict(
            {str(number): nn.Embedding(rows, c["key_value_heads"] * c["value_width"]) for number in used})
        for number, table in self.value_tables.items():
            oracle.add(f"{self.name}.value_embeddings.{number}", table.weight)

    def bias(self, width):
        """[heads, query, key], by distance."""
        c = self.c
        if c["positions"] == "alibi":
            return oracles.alibi(c["heads"], width)
        if not c["positions"].endswith("relative-bias"):
            return 0.0
        buckets = oracles.t5_bucket(distances(width), self.both_ways, c["relative_buckets"], c["relative_max_distance"])
        return self.relative_bias(buckets).permute(2, 0, 1)

    def forward(self, x, rectangle, memory=None, memory_rectangle=None):
        sees_memory = memory_rectangle and memory_rectangle.real()[:, None, None, :]
        bias = self.bias(rectangle.width)
        outputs = []
        for i, layer in enumerate(list(self.layers) * self.times):
            sees = visible(rectangle, layer.attention.pattern, self.c["heads"], self.both_ways)
            if str(i) in self.skips:
                x = x + self.skips[str(i)](outputs[len(self.layers) - 1 - i])
            if self.value_tables and self.numbers[i]:
                layer.attention.own_rows = self.value_tables[str(self.numbers[i])](rectangle.tokens)
            x = layer(x, sees, bias, memory, sees_memory)
            outputs.append(x)
        return self.norm(x) if self.norm else x


def bigram_rows(tokens, vocabulary, rows):
    """Of each token and the one before it, in a table that has a row for each pair, or is shared by a hash."""
    def row_of(pair):
        return pair if rows >= vocabulary * (vocabulary + 1) else ((pair * 0x9e3779b97f4a7c15 % 2**64 >> 32) * rows) >> 32

    return torch.tensor([[row_of((before + 1) * vocabulary + token) for before, token in zip([-1] + line, line)]
                         for line in tokens.tolist()])


class Model(Oracle):
    """Of any architecture."""

    def __init__(self, config):
        c = complete(config)
        super().__init__(c)
        vocabulary = c["source_vocabulary" if c["architecture"] == "encoder" else "target_vocabulary"]
        if c["architecture"] == "seq2seq":
            self.source = self.make_table("source", c["source_vocabulary"])
            self.encoder = Stack(c, self, "encoder")
            self.embedding = self.make_table("target", vocabulary)
            self.decoder = Stack(c, self, "decoder", reads_memory=True)
            if c["tie"] == "all":
                self.embedding.weight = self.source.weight
                del self.pieces["target.tokens"]
        else:
            self.embedding = self.make_table("embedding", vocabulary)
            self.stack = Stack(c, self, "encoder" if c["architecture"] == "encoder" else "decoder")
        if c["architecture"] == "causal-lm" and c["embedding_width"] != c["model"]:
            self.back = nn.Linear(c["model"], c["embedding_width"], bias=False)
            self.add_linear("output.layer", self.back)
        if c["head_layer"] != "none":
            self.make_head_layer()
        if c["head"] == "tokens":
            self.make_output(vocabulary, self.embedding)
        else:
            self.output = nn.Linear(c["model"], len(c["labels"]) or 1, bias=c["output_bias"])
            self.add_linear("head", self.output)

    def make_head_layer(self):
        c = self.config
        width = c["embedding_width"] if c["head"] == "tokens" else c["model"]
        name = "output.layer" if c["head"] == "tokens" else "head.layer"
        self.head_layer = nn.Linear(c["model"], width, bias=c["bias"])
        self.add_linear(name, self.head_layer)
        if c["head_layer_norm"]:
            self.head_norm = make_norm(c, width)
            self.add_norm(name + ".norm", self.head_norm)

    def head_layer_of(self, x):
        if hasattr(self, "back"):
            return self.back(x)
        if self.config["head_layer"] == "none":
            return x
        x = ACTIVATIONS[self.config["head_layer"]](self.head_layer(x))
        return self.head_norm(x) if self.config["head_layer_norm"] else x

    def make_table(self, name, vocabulary):
        """Of tokens, with what is added to them."""
        c = self.config
        width = c["embedding_width"]
        embedding = nn.Embedding(vocabulary, width)
        self.add(name + ".tokens", embedding.weight)
        if c["architecture"] == "causal-lm" and width != c["model"]:
            # Positions are added after the projection.
            embedding.projection = nn.Linear(width, c["model"], bias=False)
            self.add_linear(name + ".projection", embedding.projection)
            width = c["model"]
        if c["positions"].startswith("learned"):
            embedding.positions = nn.Parameter(torch.empty(c["max_length"] + c["position_offset"], width))
            self.add(name + ".positions", embedding.positions)
        if c["token_types"]:
            embedding.types = nn.Embedding(c["token_types"], width)
            self.add(name + ".types", embedding.types.weight)
        if c["bigrams"]:
            embedding.bigrams = nn.Embedding(c["bigrams"], width)
            self.add(name + ".bigrams", embedding.bigrams.weight)
        if c["embedding_norm"]:
            embedding.norm = make_norm(c, width)
            self.add_norm(name + ".norm", embedding.norm)
        if width != c["model"]:
            embedding.projection = nn.Linear(width, c["model"])
            self.add_linear(name + ".projection", embedding.projection)
        return embedding

    def embedded_after_projection(self, embedding, tokens):
        c = self.config
        x = embedding(tokens) * (math.sqrt(c["model"]) if c["embedding_scale"] == "sqrt-model" else 1.0)
        x = embedding.projection(x)
        if c["positions"].startswith("learned"):
            x = x + embedding.positions[c["position_offset"]:c["position_offset"] + tokens.shape[1]]
        return embedding.norm(x) if c["embedding_norm"] else x

    def embedded(self, embedding, rectangle):
        if self.config["architecture"] == "causal-lm" and hasattr(embedding, "projection"):
            return self.embedded_after_projection(embedding, rectangle.tokens)
        x = self.embed_plainly(embedding, rectangle.tokens)
        if self.config["token_types"]:
            x = x + embedding.types(rectangle.types)
        if self.config["bigrams"]:
            x = x + embedding.bigrams(bigram_rows(rectangle.tokens, embedding.num_embeddings, self.config["bigrams"]))
        x = embedding.norm(x) if self.config["embedding_norm"] else x
        return embedding.projection(x) if hasattr(embedding, "projection") else x

    def forward(self, batch):
        c, x = self.config, self.embedded(self.embedding, batch.target)
        if c["architecture"] == "seq2seq":
            memory = self.encoder(self.embedded(self.source, batch.source), batch.source)
            x = self.decoder(x, batch.target, memory, batch.source)
        else:
            x = self.stack(x, batch.target)
        if c["head"] not in ("tokens", "token-labels"):
            x = pooled(x, batch.target.real(), c["pooling"])[:, None]
        return soft_capped(self.output(c["output_scale"] * self.head_layer_of(x)), c["logit_cap"])
