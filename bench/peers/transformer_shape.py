"""What a Transformer's size and dropout are; known before PyTorch is loaded."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dropout:
    """The probabilities at each of the places where values are dropped."""

    embedding: float = 0.1
    attention: float = 0.1  # of attention weights
    inner: float = 0.1  # behind the activation
    branch: float = 0.1  # before it joins the residual


@dataclass(frozen=True)
class Shape:
    model: int
    inner: int
    heads: int
    encoder_layers: int  # none: decoder-only
    decoder_layers: int
    vocab: int
    time: int  # the longest sequence
    tied: bool = False  # one matrix serves all embeddings and the output
    bias: bool = True  # in linear layers and norms
    dropout: Dropout = Dropout()
