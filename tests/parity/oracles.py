"""PyTorch models that compute what a heed configuration describes, in float64.

Encoder-decoder and encoder are PyTorch's own layers; the two decoders are written out from their formulas. Each says
which of its parameters make up heed's, so that weights go over and gradients come back by heed's names.
"""

import math

import torch
from torch import nn
from torch.nn import functional


def sinusoidal(length, model, layout="interleaved", first=0):
    """sin(p / 10000^(2i/model)) in column 2i, the cosine in 2i + 1; or all sines before all cosines, with that exponent
    or with one that ends at 1."""
    pairs = torch.arange(model // 2)
    exponents = pairs / (model / 2 - 1) if layout == "halves-inclusive" else 2 * pairs / model
    angles = torch.arange(first, first + length)[:, None] * torch.exp(-math.log(10000.0) * exponents)
    if layout == "interleaved":
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def soft_capped(x, cap):
    """As Gemma 2 has it."""
    return cap * torch.tanh(x / cap) if cap else x


def of_layer(config, layer):
    """The configuration with this layer's own values of the settings that may be lists."""
    own = {key: value[layer % len(value)] for key, value in config.items()
           if key in ("inner", "key_value_heads", "rotary_base", "rotary_factor", "value_embeddings") and isinstance(value, list)}
    return {**config, **own}


class Oracle(nn.Module):
    """`pieces` lists for each of heed's parameters the tensors, or (tensor, first row, end row), stacked in it."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.pieces = {}

    def begin(self, seed, precision="f32"):
        """Random values that heed can hold exactly, biases and gains included."""
        generator = torch.Generator().manual_seed(seed)
        held = torch.bfloat16 if precision == "bf16" else torch.float32
        for name, parameter in self.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() > 1:
                drawn *= parameter.shape[1] ** -0.5
            elif "norm" in name and name.endswith("weight"):
                drawn = 1.0 + 0.2 * drawn
            else:
                drawn *= 0.2
            parameter.data.copy_(drawn.to(held))
        return self

    def stacked(self, value_of):
        def part(piece):
            tensor, first, end = piece if isinstance(piece, tuple) else (piece, 0, len(piece))
            return value_of(tensor)[first:end]

        return {name: torch.cat([part(piece) for piece in pieces]).clone() for name, pieces in self.pieces.items()}

    def heed_weights(self):
        return self.stacked(lambda parameter: parameter.data)

    def heed_gradients(self):
        return self.stacked(lambda parameter: parameter.grad)

    def load(self, weights):
        """Takes the values of heed's parameters, by its names."""
        for name, pieces in self.pieces.items():
            row = 0
            for piece in pieces:
                tensor, first, end = piece if isinstance(piece, tuple) else (piece, 0, len(piece))
                tensor.data[first:end] = weights[name][row:row + end - first]
                row += end - first

    def add(self, name, *pieces):
        self.pieces[name] = pieces

    def add_linear(self, name, *modules):
        self.add(name + ".weight", *(module.weight for module in modules))
        if modules[0].bias is not None:
            self.add(name + ".bias", *(module.bias for module in modules))

    def add_norm(self, name, norm):
        self.add(name + ".gain", norm.weight)
        if getattr(norm, "bias", None) is not None:
            self.add(name + ".bias", norm.bias)

    def add_self_attention(self, name, attention):
        self.add(name + ".projection.weight", attention.in_proj_weight)
        self.add(name + ".projection.bias", attention.in_proj_bias)
        self.add_linear(name + ".output", attention.out_proj)

    def add_cross_attention(self, name, attention):
        model = attention.embed_dim
        for kind, tensor in (("weight", attention.in_proj_weight), ("bias", attention.in_proj_bias)):
            self.add(f"{name}.query.{kind}", (tensor, 0, model))
            self.add(f"{name}.key_value.{kind}", (tensor, model, 3 * model))
        self.add_linear(name + ".output", attention.out_proj)

    def add_feed_forward(self, name, layer):
        self.add_linear(name + ".inner", layer.linear1)
        self.add_linear(name + ".output", layer.linear2)

    def layer_options(self):
        c = self.config
        return dict(d_model=c["model"], nhead=c["heads"], dim_feedforward=c["inner"], dropout=0.0,
                    activation=c["activation"], layer_norm_eps=c.get("epsilon", 1e-5), batch_first=True,
                    norm_first=c["norm_placement"] == "pre")

    def layer_norm(self):
        return nn.LayerNorm(self.config["model"], eps=self.config.get("epsilon", 1e-5))

    def make_encoder(self):
        """PyTorch's encoder under heed's names."""
        c = self.config
        layer = nn.TransformerEncoderLayer(**self.layer_options())
        self.encoder = nn.TransformerEncoder(layer, c["encoder_layers"], self.layer_norm() if c["final_norm"] else None)
        for i, layer in enumerate(self.encoder.layers):
            name = f"encoder.layers.{i}"
            self.add_self_attention(name + ".attention", layer.self_attn)
            self.add_norm(name + ".attention.norm", layer.norm1)
            self.add_feed_forward(name + ".feed_forward", layer)
            self.add_norm(name + ".feed_forward.norm", layer.norm2)
        if c["final_norm"]:
            self.add_norm("encoder.norm", self.encoder.norm)

    def make_embedding(self, name, vocabulary):
        embedding = nn.Embedding(vocabulary, self.config["model"])
        self.add(name + ".tokens", embedding.weight)
        if self.config["positions"] == "learned":
            embedding.positions = nn.Parameter(torch.empty(self.config["max_length"], self.config["model"]))
            self.add(name + ".positions", embedding.positions)
        if self.config.get("embedding_norm"):
            embedding.norm = self.layer_norm()
            self.add_norm(name + ".norm", embedding.norm)
        return embedding

    def embed(self, embedding, tokens):
        x = self.embed_plainly(embedding, tokens)
        return embedding.norm(x) if self.config.get("embedding_norm") else x

    def embed_plainly(self, embedding, tokens):
        c = self.config
        x = embedding(tokens) * (math.sqrt(c["model"]) if c["embedding_scale"] == "sqrt-model" else 1.0)
        first = c.get("position_offset", 0)
        if c["positions"] == "sinusoidal":
            return x + sinusoidal(tokens.shape[1], x.shape[2], c.get("sinusoid", "interleaved"), first)
        return x + embedding.positions[first:first + tokens.shape[1]] if c["positions"].startswith("learned") else x

    def make_relative_bias(self, name, config):
        if config["positions"] == "relative-bias":
            self.relative_bias = nn.Embedding(config["relative_buckets"], config["heads"])
            self.add(name + ".relative_bias", self.relative_bias.weight)

    def bias_by_distance(self, width, both_ways):
        """[heads, query, key], added to the scores of every layer's self-attention."""
        c = self.config
        if c["positions"] == "alibi":
            return alibi(c["heads"], width)
        if c["positions"] == "relative-bias":
            buckets = t5_bucket(distances(width), both_ways, c["relative_buckets"], c["relative_max_distance"])
            return self.relative_bias(buckets).permute(2, 0, 1)
        return 0.0

    def make_output(self, vocabulary, embedding):
        c = self.config
        is_narrow = c.get("head_layer", "none") != "none" or c["architecture"] == "causal-lm"
        width = (c.get("embedding_width") if is_narrow else 0) or c["model"]
        self.output = nn.Linear(width, vocabulary, bias=c["output_bias"])
        if c["tie"] != "none":
            self.output.weight = embedding.weight
        else:
            self.add("output.weight", self.output.weight)
        if c["output_bias"]:
            self.add("output.bias", self.output.bias)

    def scores(self, x):
        """Of the vocabulary, softly capped."""
        return soft_capped(self.output(x), self.config.get("logit_cap"))


class Seq2Seq(Oracle):
    def __init__(self, config):
        super().__init__(config)
        c = config
        self.source = self.make_embedding("source", c["source_vocabulary"])
        self.target = self.make_embedding("target", c["target_vocabulary"])
        if c["tie"] == "all":
            self.target.weight = self.source.weight
            del self.pieces["target.tokens"]
        self.make_encoder()
        layer = nn.TransformerDecoderLayer(**self.layer_options())
        self.decoder = nn.TransformerDecoder(layer, c["decoder_layers"], self.layer_norm() if c["final_norm"] else None)
        for i, layer in enumerate(self.decoder.layers):
            self.add_decoder_layer(f"decoder.layers.{i}", layer)
        if c["final_norm"]:
            self.add_norm("decoder.norm", self.decoder.norm)
        self.make_output(c["target_vocabulary"], self.target)

    def add_decoder_layer(self, name, layer):
        self.add_self_attention(name + ".self_attention", layer.self_attn)
        self.add_norm(name + ".self_attention.norm", layer.norm1)
        self.add_cross_attention(name + ".cross_attention", layer.multihead_attn)
        self.add_norm(name + ".cross_attention.norm", layer.norm2)
        self.add_feed_forward(name + ".feed_forward", layer)
        self.add_norm(name + ".feed_forward.norm", layer.norm3)

    def forward(self, batch):
        source_padding, target_padding = ~batch.source.real(), ~batch.target.real()
        width = batch.target.width
        if "encoder_attention" in self.config:
            return self.with_patterns(batch, source_padding)
        later = torch.ones(width, width, dtype=torch.bool).triu(1)
        memory = self.encoder(self.embed(self.source, batch.source.tokens), src_key_padding_mask=source_padding)
        x = self.decoder(self.embed(self.target, batch.target.tokens), memory, tgt_mask=later,
                         tgt_key_padding_mask=target_padding, memory_key_padding_mask=source_padding)
        return self.scores(x)


    def with_patterns(self, batch, source_padding):
        """One pattern for all layers of each stack, as masks of what each query does not see."""
        c = self.config
        source = visible(batch.source, c["encoder_attention"][0], c["heads"], both_ways=True)
        target = visible(batch.target, c["decoder_attention"][0], c["heads"])
        memory = self.encoder(self.embed(self.source, batch.source.tokens), mask=~source.flatten(0, 1))
        x = self.decoder(self.embed(self.target, batch.target.tokens), memory, tgt_mask=~target.flatten(0, 1),
                         memory_key_padding_mask=source_padding)
        return self.scores(x)


def pooled(x, real, kind):
    """Each text's row: its first or its last, or the mean, the maximum or the sum by sqrt(n) of its real ones."""
    if kind == "first":
        return x[:, 0]
    if kind == "last":
        return x[torch.arange(len(x)), real.sum(dim=1) - 1]
    if kind == "mean-sqrt-length":
        return (x * real[:, :, None]).sum(dim=1) / real.sum(dim=1)[:, None].sqrt()
    if kind == "max":
        return x.masked_fill(~real[:, :, None], -math.inf).amax(dim=1)
    return (x * real[:, :, None]).sum(dim=1) / real.sum(dim=1)[:, None]


class Encoder(Oracle):
    def __init__(self, config):
        super().__init__(config)
        self.embedding = self.make_embedding("embedding", config["source_vocabulary"])
        self.make_encoder()
        labels = config.get("labels")
        if labels:
            self.output = nn.Linear(config["model"], len(labels))
            self.add_linear("head", self.output)
        else:
            self.make_output(config["source_vocabulary"], self.embedding)
        self.make_relative_bias("encoder", config)

    def forward(self, batch):
        x = self.embed(self.embedding, batch.target.tokens)
        real = batch.target.real()
        if self.config["positions"] not in ("alibi", "relative-bias"):
            x = self.encoder(x, src_key_padding_mask=~real)
            if self.config.get("head") == "label":
                x = pooled(x, real, self.config["pooling"])[:, None]
            return self.scores(x)
        # PyTorch's layers take a mask for each sequence and head, to be added to its scores.
        bias = self.bias_by_distance(batch.target.width, both_ways=True)
        mask = torch.where(real[:, None, None, :], bias[None], -math.inf).flatten(0, 1)
        return self.scores(self.encoder(x, mask=mask))


def sees_back(pattern, back, both_ways=False):
    """Which keys `back` tokens before a query it sees; those after it in an encoder alone."""
    kind, _, size = pattern.partition(":")
    sees = torch.ones_like(back, dtype=torch.bool) if both_ways else back >= 0
    if kind == "local":
        sees = sees & (back.abs() < int(size))
    if kind == "strided":
        sees = sees & (back % int(size) == 0)
    return sees


def visible(rows, pattern, heads, both_ways=False):
    """[batch, head, query, key]: real keys that the pattern shows, in equal parts of the heads. A row of padding sees
    itself, so that it holds no NaN that would reach the gradients as 0 * NaN."""
    place = torch.arange(rows.width)
    back = place[:, None] - place[None, :]
    parts = [sees_back(part, back, both_ways) for part in pattern.split("+")]
    sees = torch.stack(parts).repeat_interleave(heads // len(parts), dim=0)
    return (sees[None] & rows.real()[:, None, None, :]) | (back == 0)


def visible_in_layers(batch, config):
    """Of each layer, over and over; None where attention is linear."""
    patterns = config.get("attention", [f"local:{config['window']}" if config.get("window") else "full"])
    patterns = [patterns[layer % len(patterns)] for layer in range(config["decoder_layers"])]
    return [None if pattern == "linear" else visible(batch.target, pattern, config["heads"]) for pattern in patterns]


def distances(width):
    """[query, key]: the key's position less the query's."""
    place = torch.arange(width)
    return place[None, :] - place[:, None]


def alibi_slopes(heads):
    """The authors' get_slopes."""
    def of_power(n):
        start = 2.0 ** (-(2.0 ** -(math.log2(n) - 3)))
        return [start * start ** i for i in range(n)]

    if math.log2(heads).is_integer():
        return of_power(heads)
    power = 2 ** math.floor(math.log2(heads))
    return of_power(power) + alibi_slopes(2 * power)[0::2][:heads - power]


def alibi(heads, width):
    """[heads, query, key]: symmetric, as an encoder has it; a causal model sees the half behind alone."""
    return -torch.tensor(alibi_slopes(heads))[:, None, None] * distances(width).abs()


def t5_bucket(relative, both_ways, buckets, max_distance):
    """transformers' T5Attention._relative_position_bucket."""
    first = 0
    if both_ways:
        buckets //= 2
        first = (relative > 0).long() * buckets
        relative = relative.abs()
    else:
        relative = -relative.clamp(max=0)
    exact = buckets // 2
    large = exact + (torch.log(relative.float() / exact) / math.log(max_distance / exact)
                     * (buckets - exact)).clamp(max=buckets).long()
    return first + torch.where(relative < exact, relative, large.clamp(max=buckets - 1))


def attend(query, key, value, sees, bias=0.0, cap=None, relative_values=None, scale=None):
    """softmax(scale Q K^T, capped, + bias) V over what each query sees; operands [batch, heads, time, d]. The scale is
    1 / sqrt(d) if not given. Values may have additions for each pair, [time, time, d]."""
    scores = soft_capped((scale or query.shape[-1] ** -0.5) * query @ key.transpose(-2, -1), cap) + bias
    weights = scores.masked_fill(~sees, -math.inf).softmax(dim=-1)
    mixed = weights @ value
    return mixed if relative_values is None else mixed + torch.einsum("bhij,ijd->bhid", weights, relative_values)


FEATURES = {"elu": lambda x: functional.elu(x) + 1.0, "exp": lambda x: x.clamp(-16.0, 16.0).exp()}


def attend_linearly(query, key, value):
    """q S / q z, where S and z are sums of k v^T and k over all tokens up to the query's; q and k are features."""
    sums = torch.einsum("bhtd,bhte->bhtde", key, value).cumsum(dim=2)
    return torch.einsum("bhtd,bhtde->bhte", query, sums) / (query * key.cumsum(dim=2)).sum(dim=-1, keepdim=True)


def split_heads(x, heads):
    """[batch, time, heads * d] to [batch, heads, time, d]."""
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(2)


class GptLayer(nn.Module):
    def __init__(self, config, norm):
        super().__init__()
        model, inner = config["model"], config["inner"]
        self.heads, self.branches = config["heads"], config.get("branches")
        self.activation = {"gelu": functional.gelu,
                           "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh")}[config["activation"]]
        self.features = FEATURES[config.get("linear_feature", "elu")]
        self.norm1, self.norm2 = norm(), norm()
        self.projection, self.joined = nn.Linear(model, 3 * model), nn.Linear(model, model)
        self.linear1, self.linear2 = nn.Linear(model, inner), nn.Linear(inner, model)
        if config["positions"].startswith("relative-keys"):
            self.relative_keys = nn.Parameter(torch.empty(config["relative_clip"] + 1, model // self.heads))
        if config["positions"] == "relative-keys-values":
            self.relative_values = nn.Parameter(torch.empty(model // self.heads, config["relative_clip"] + 1))

    def forward(self, x, sees, bias=0.0):
        query, key, value = (split_heads(part, self.heads) for part in self.projection(self.norm1(x)).chunk(3, dim=2))
        if hasattr(self, "relative_keys"):
            clip = len(self.relative_keys) - 1
            distance = distances(x.shape[1]).clamp(-clip, 0) + clip
            bias = torch.einsum("bhid,ijd->bhij", query, self.relative_keys[distance]) / math.sqrt(query.shape[-1])
        if hasattr(self, "relative_values"):
            mixed = attend(query, key, value, sees, bias, relative_values=self.relative_values.T[distance])
        else:
            mixed = (attend_linearly(self.features(query), self.features(key), value) if sees is None else
                     attend(query, key, value, sees, bias))
        attended = x + self.joined(join_heads(mixed))
        # GPT-NeoX and Pythia: both branches read the layer's input, each through a norm of its own.
        read = x if self.branches == "parallel-own-norms" else attended
        return attended + self.linear2(self.activation(self.linear1(self.norm2(read))))


class Gpt(Oracle):
    """Pre-norm, GELU, final norm; learned positions, or a bias of the scores by distance."""

    def __init__(self, config):
        super().__init__(config)
        self.embedding = self.make_embedding("embedding", config["target_vocabulary"])
        self.layers = nn.ModuleList(GptLayer(of_layer(config, i), self.layer_norm)
                                    for i in range(config["decoder_layers"]))
        self.norm = self.layer_norm()
        for i, layer in enumerate(self.layers):
            name = f"decoder.layers.{i}"
            self.add_linear(name + ".attention.projection", layer.projection)
            for embeddings in ("relative_keys", "relative_values"):
                if hasattr(layer, embeddings):
                    self.add(f"{name}.attention.{embeddings}", getattr(layer, embeddings))
            self.add_linear(name + ".attention.output", layer.joined)
            self.add_norm(name + ".attention.norm", layer.norm1)
            self.add_feed_forward(name + ".feed_forward", layer)
            self.add_norm(name + ".feed_forward.norm", layer.norm2)
        self.add_norm("decoder.norm", self.norm)
        self.make_output(config["target_vocabulary"], self.embedding)
        self.make_relative_bias("decoder", config)

    def forward(self, batch):
        x = self.embed(self.embedding, batch.target.tokens)
        for layer, sees in zip(self.layers, visible_in_layers(batch, self.config)):
            x = layer(x, sees, self.bias_by_distance(batch.target.width, both_ways=False))
        return self.scores(self.norm(x))


class RmsNorm(nn.Module):
    def __init__(self, model, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(model))
        self.epsilon = epsilon

    def forward(self, x):
        return x / ((x * x).mean(dim=-1, keepdim=True) + self.epsilon).sqrt() * self.weight


def rotary_frequencies(width, base, c):
    """As transformers' modeling_rope_utils has them, with what cosines and sines are multiplied by."""
    kind, factor = c.get("rotary_scaling", "none"), c.get("rotary_factor", 1.0)
    slow, fast = c.get("rotary_slow_turns") or 1.0, c.get("rotary_fast_turns") or (4.0 if kind == "llama3" else 32.0)
    if kind == "ntk":
        base *= factor ** (width / (width - 2))
    plain = base ** (-torch.arange(0, width, 2) / width)
    if kind == "linear":
        return plain / factor, 1.0
    if kind == "llama3":
        length, waves = c["rotary_trained_length"], 2 * math.pi / plain
        smooth = (length / waves - slow) / (fast - slow)
        between = (1 - smooth) * plain / factor + smooth * plain
        scaled = torch.where(waves > length / slow, plain / factor, between)
        return torch.where(waves < length / fast, plain, scaled), c.get("rotary_magnitude") or 1.0
    if kind != "yarn":
        return plain, c.get("rotary_magnitude") or 1.0

    def correction(rotations):
        return width * math.log(c["rotary_trained_length"] / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(correction(fast)), 0), min(math.ceil(correction(slow)), width - 1)
    ramp = ((torch.arange(width // 2) - low) / (high - low)).clamp(0, 1)
    return plain / factor * ramp + plain * (1 - ramp), c.get("rotary_magnitude") or 0.1 * math.log(factor) + 1.0


def rotate(x, base, config={}):
    """Where `base` is not 0, turns columns (c, c + r/2) of [batch, heads, time, d], r of them turned, by time * base^(-2c/r)."""
    if base == 0.0:
        return x
    time, width = x.shape[-2], config.get("rotary_width", 0) or x.shape[-1]
    x, rest = x[..., :width], x[..., width:]
    frequencies, magnitude = rotary_frequencies(width, base, config)
    angles = torch.arange(time)[:, None] * frequencies
    cosine, sine = angles.cos() * magnitude, angles.sin() * magnitude
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine, rest], dim=-1)


class LlamaLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        model, inner, width = config["model"], config["inner"], config["head_width"]
        self.heads, self.shared = config["heads"], config["heads"] // config["key_value_heads"]
        self.base, self.config = config["rotary_base"], config
        self.norm1, self.norm2 = (RmsNorm(model, config["epsilon"]) for _ in range(2))
        self.query = nn.Linear(model, self.heads * width, bias=False)
        self.key = nn.Linear(model, config["key_value_heads"] * width, bias=False)
        value_width = config.get("value_width") or width
        self.value = nn.Linear(model, config["key_value_heads"] * value_width, bias=False)
        self.joined = nn.Linear(self.heads * value_width, model, bias=False)
        self.qk_norm = config.get("qk_norm", "none")
        if self.qk_norm != "none":
            heads = (self.heads, config["key_value_heads"]) if self.qk_norm == "all" else (1, 1)
            self.query_norm, self.key_norm = (RmsNorm(count * width, config["epsilon"]) for count in heads)
        self.gate, self.up = nn.Linear(model, inner, bias=False), nn.Linear(model, inner, bias=False)
        self.down = nn.Linear(inner, model, bias=False)

    def normed_heads(self, x, heads, norm):
        """Split into heads, and normalized: each head, as Qwen3 and Gemma 3 do, or all together, as OLMo 2 does."""
        if self.qk_norm == "all":
            return split_heads(getattr(self, norm)(x), heads)
        x = split_heads(x, heads)
        return getattr(self, norm)(x) if self.qk_norm == "head" else x

    def attention(self, x, sees):
        groups = self.heads // self.shared
        query = rotate(self.normed_heads(self.query(x), self.heads, "query_norm"), self.base, self.config)
        key = rotate(self.normed_heads(self.key(x), groups, "key_norm"), self.base, self.config)
        key = key.repeat_interleave(self.shared, dim=1)
        value = split_heads(self.value(x), groups).repeat_interleave(self.shared, dim=1)
        cap = self.config.get("attention_cap")
        return self.joined(join_heads(attend(query, key, value, sees, **({"cap": cap} if cap else {}))))

    def forward(self, x, sees):
        attended = x + self.attention(self.norm1(x), sees)
        y = self.norm2(x if self.config.get("branches") == "parallel-own-norms" else attended)
        return attended + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(Oracle):
    """Rotary positions, RMS norm, SiLU-gated feed-forward, grouped heads of keys and values, no biases."""

    def __init__(self, config):
        super().__init__(config)
        self.embedding = self.make_embedding("embedding", config["target_vocabulary"])
        self.layers = nn.ModuleList(LlamaLayer(of_layer(config, i)) for i in range(config["decoder_layers"]))
        self.norm = RmsNorm(config["model"], config["epsilon"])
        for i, layer in enumerate(self.layers):
            name = f"decoder.layers.{i}"
            self.add_linear(name + ".attention.projection", layer.query, layer.key, layer.value)
            self.add_linear(name + ".attention.output", layer.joined)
            self.add_norm(name + ".attention.norm", layer.norm1)
            if layer.qk_norm != "none":
                self.add_norm(name + ".attention.query_norm", layer.query_norm)
                self.add_norm(name + ".attention.key_norm", layer.key_norm)
            self.add_linear(name + ".feed_forward.inner", layer.gate, layer.up)
            self.add_linear(name + ".feed_forward.output", layer.down)
            self.add_norm(name + ".feed_forward.norm", layer.norm2)
        self.add_norm("decoder.norm", self.norm)
        self.make_output(config["target_vocabulary"], self.embedding)

    def forward(self, batch):
        x = self.embed(self.embedding, batch.target.tokens)
        for layer, sees in zip(self.layers, visible_in_layers(batch, self.config)):
            x = layer(x, sees)
        return self.scores(self.norm(x))
