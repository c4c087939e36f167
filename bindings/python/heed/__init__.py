"""Transformers that translate, write and read, trained and run on your own machine.

    >>> import heed
    >>> translator = heed.Translator("model")           # doctest: +SKIP
    >>> translator.translate("ein Hund", beam_size=4)   # doctest: +SKIP
    TranslationResult(['a dog'])

Models are heed's own directories, or those of Hugging Face, GGUF, CTranslate2 and Marian.
"""

import json
import os
import queue
import tempfile
import threading

from . import _heed
from ._heed import (BudgetError, ConfigError, DeviceError, Encoder, Encoding, Error, FormatError, GenerationResult,
                    Generator, InterruptedError, IoError, NumericError, RankError, Tokenizer, TooLongError,
                    TranslationResult, Translator, __version__, bleu, export_model, import_model, inspect, quantize,
                    report)

__all__ = ["BudgetError", "ConfigError", "DeviceError", "Encoder", "Encoding", "Error", "FormatError",
           "GenerationResult", "Generator", "InterruptedError", "IoError", "NumericError", "RankError", "Tokenizer",
           "TooLongError", "TranslationResult", "Translator", "__version__", "bleu", "export_model", "import_model",
           "inspect", "quantize", "report", "similarity", "train"]


for _name in __all__:
    if isinstance(globals().get(_name), type):
        globals()[_name].__module__ = __name__  # where people find it


def similarity(a, b):
    """The cosines of the angles between embeddings: a number, a row or a table, as a and b are rows or tables.

    >>> float(similarity([1.0, 0.0], [1.0, 1.0]).round(4))
    0.7071
    """
    import numpy
    a, b = numpy.asarray(a, numpy.float32), numpy.asarray(b, numpy.float32)
    of_a, of_b = numpy.linalg.norm(a, axis=-1), numpy.linalg.norm(b, axis=-1)
    lengths = numpy.multiply.outer(of_a, of_b)
    return numpy.where(lengths > 0, (a @ b.T) / numpy.where(lengths > 0, lengths, 1), 0)


def _stream(self, prompt, **options):
    """Yields the text that continues the prompt, piece by piece. Closing the iterator ends the text."""
    if not isinstance(prompt, str):
        raise TypeError(f"prompt: expected str, not {type(prompt).__name__}")
    pieces, ended, closed = queue.SimpleQueue(), object(), threading.Event()

    def take(_prompt, _text, piece):
        pieces.put(piece)
        return closed.is_set()

    def write():
        try:
            self.generate(prompt, callback=take, **options)
            pieces.put(ended)
        except BaseException as error:
            pieces.put(error)

    threading.Thread(target=write, daemon=True).start()
    try:
        while (piece := pieces.get()) is not ended:
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        closed.set()


def _chat(self, messages, **options):
    """The model's answer to a conversation, a list of {"role": ..., "content": ...}, by its chat template."""
    try:
        messages = list(messages)
    except TypeError:
        raise TypeError(f"messages: expected a list of dicts, not {type(messages).__name__}") from None
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or \
                not isinstance(message.get("content"), str):
            raise TypeError('messages: expected dicts with a "role" and a "content" of str')
    return self._chat(messages, **options)


Encoder.similarity = staticmethod(similarity)
Generator.stream = _stream
Generator.chat = _chat


def _toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    raise TypeError(f"recipe: a {type(value).__name__} is not a setting")


def recipe_text(recipe):
    """A recipe, a dict of tables, in TOML.

    >>> print(recipe_text({"model": {"heads": 4, "gated": True}, "data": {"train": ["a.txt"]}}))
    [model]
    heads = 4
    gated = true
    [data]
    train = ["a.txt"]
    """
    lines = [f"{key} = {_toml(value)}" for key, value in recipe.items() if not isinstance(value, dict)]
    for name, table in recipe.items():
        if isinstance(table, dict):
            lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines)


def train(recipe, output, *, callbacks=(), overrides=(), resume=False, threads=0, device="cpu"):
    """Trains a model and leaves a model directory behind.

    recipe is a file, or a dict of its tables. Each callback is called with a dict for each event: "message", "train"
    (loss, learning_rate, tokens_per_second ...) and "validation" (loss, bleu ...). When one returns something true the
    run saves its state and ends; what one raises is raised again then; and so does Ctrl-C. With resume, the same call
    goes on. Returns a dict with the reason of the end and the number of parameters.
    """
    if not isinstance(recipe, (str, os.PathLike, dict)):
        raise TypeError(f"recipe: expected a path or a dict, not {type(recipe).__name__}")
    callbacks = (callbacks,) if callable(callbacks) else callbacks
    if not isinstance(callbacks, (list, tuple)) or not all(map(callable, callbacks)):
        raise TypeError("callbacks: expected a callable, or a list of them")
    settings = (output, callbacks, overrides, resume, threads, device)
    if not isinstance(recipe, dict):
        return _heed._train(recipe, *settings)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "recipe.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(recipe_text(recipe))
        return _heed._train(path, *settings)
