"""What programs with type hints write. mypy --strict reads it; nothing runs it."""

from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

import heed


def texts_of(model: Path, lines: list[str]) -> list[str]:
    translator = heed.Translator(model, compute_type="f32", threads=2)
    best: str = translator.translate(lines[0], beam_size=1).text
    results = translator.translate(lines, num_hypotheses=2, callback=lambda line, piece: line > 3)
    scores: NDArray[numpy.float64] = translator.score(lines, [result.text for result in results])
    return [best, *(f"{result.text} {score:.2f}" for result, score in zip(results, scores))]


def inside(model: Path) -> float:
    translator = heed.Translator(model)
    found: heed.PairForwardResult = translator.forward("ein Hund", [2, 5], output_attentions=True)
    weights: NDArray[numpy.float32] = found.cross_attentions[0]
    norms = {name: float(abs(gradient).max())
             for name, gradient in translator.gradients([("ein Hund", "a dog")]).gradients.items()}
    shapes = {name: weight.shape for name, weight in heed.weights(model).items()}
    return float(weights.sum()) + max(norms.values()) + len(shapes)


def generated(model: Path) -> str:
    generator = heed.Generator(model)
    pieces = "".join(generator.stream("Once", max_new_tokens=5))
    answer = generator.chat([{"role": "user", "content": "Hello"}], temperature=0.0)
    states = generator.forward(numpy.array([1, 2]), output_hidden_states=True).hidden_states
    return pieces + answer.text + str(states[-1].shape) + str(generator.gradients(["the dog"]).loss)


def read(model: Path) -> tuple[NDArray[numpy.float32], str | None]:
    encoder = heed.Encoder(model)
    rows = encoder.encode(["a", "b"], normalize_embeddings=True)
    label = encoder.classify("a")["label"]
    loss = encoder.gradients([("a", "good"), ("b", 1), ("c", [-100, 5])]).loss
    return encoder.similarity(rows, rows) * loss, label


def offsets(path: Path, text: str) -> list[str]:
    return [text[begin:end] for begin, end in heed.Tokenizer(path).encode(text).offsets]


def encoded_and_back(path: Path, texts: list[str]) -> list[str]:
    tokenizer = heed.Tokenizer(path)
    return tokenizer.decode_batch(encoding.ids for encoding in tokenizer.encode_batch(texts))


def trained(file: Path, output: Path) -> dict[str, Any]:
    recipe = heed.Recipe.load(file, overrides=["model.heads=4"])
    recipe["training.updates"] = 100
    recipe.save(output / "recipe.toml")
    if heed.plan(recipe)["memory"]["training"] > 1e9:
        raise heed.BudgetError("too large")
    return heed.train(recipe, output, callbacks=[print])
