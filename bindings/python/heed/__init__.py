"""Transformers that translate, write and read, trained and run on your own machine.

    >>> import heed
    >>> translator = heed.Translator("model")
    >>> translator.translate("ein Hund", beam_size=4)
    TranslationResult(['a dog'])

Models are heed's own directories, or those of Hugging Face, GGUF, CTranslate2 and Marian. Examples have small models:
"model" translates, "stories" writes and "encoder" reads.
"""

import contextlib
import functools
import json
import numbers
import os
import queue
import re
import threading
from collections.abc import Mapping, MutableMapping

from . import _heed
from ._heed import (BudgetError, ConfigError, DeviceError, Encoder, Encoding, Error, FormatError, ForwardResult,
                    GenerationResult, Generator, InterruptedError, IoError, LossGradients, NumericError,
                    PairForwardResult, RankError, Tokenizer, TooLongError, TranslationResult, Translator, __version__,
                    bleu, export_model, import_model, inspect, quantize, report, weights)

__all__ = ["BudgetError", "ConfigError", "DeviceError", "Encoder", "Encoding", "Error", "FormatError",
           "ForwardResult", "GenerationResult", "Generator", "InterruptedError", "IoError", "LossGradients",
           "NumericError", "PairForwardResult", "RankError", "Recipe", "Tokenizer", "TooLongError", "TranslationResult",
           "Translator", "__version__", "bleu", "export", "export_model", "import_model", "inspect", "plan", "quantize",
           "report", "similarity", "train", "weights"]


export = export_model

for _name in __all__:
    if isinstance(globals().get(_name), type):
        globals()[_name].__module__ = __name__  # where people find it


def _wrong(argument, expected, value):
    return _heed.WrongArgument(f"(): argument '{argument}' must be {expected}, not {type(value).__name__}")


def _names_itself(function):
    """Puts the function's name before what is said of a wrong argument, as the native module's functions do."""
    @functools.wraps(function)
    def named(*arguments, **options):
        try:
            return function(*arguments, **options)
        except _heed.WrongArgument as error:
            raise TypeError(f"{function.__qualname__}{error}") from None
    return named


def _method_of(native):
    """Makes a function a method of a native class."""
    def add(function):
        function.__name__ = function.__name__.lstrip("_")
        function.__qualname__ = f"{native.__name__}.{function.__name__}"
        setattr(native, function.__name__, _names_itself(function))
    return add


def _embeddings(value, name):
    import numpy
    try:
        array = numpy.asarray(value, numpy.float32)
    except (TypeError, ValueError):
        raise _wrong(name, "a row or a table of numbers", value) from None
    if array.ndim not in (1, 2):
        raise ValueError(f"{name}: an array of {array.ndim} axes, expected a row or a table")
    return array


@_names_itself
def similarity(a, b):
    """The cosines of the angles between embeddings: a number, a row or a table, as a and b are rows or tables.

    >>> float(heed.similarity([1.0, 0.0], [1.0, 1.0]).round(4))
    0.7071
    >>> rows = encoder.encode(["a dog", "a man"])
    >>> encoder.similarity(rows, rows).shape
    (2, 2)
    """
    import numpy
    a, b = (_embeddings(value, name) for value, name in ((a, "a"), (b, "b")))
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"b: embeddings of {b.shape[-1]} numbers, expected {a.shape[-1]} as in a")
    of_a, of_b = numpy.linalg.norm(a, axis=-1), numpy.linalg.norm(b, axis=-1)
    lengths = numpy.multiply.outer(of_a, of_b)
    return numpy.where(lengths > 0, (a @ b.T) / numpy.where(lengths > 0, lengths, 1), 0)


def _pieces(generator, prompt, options):
    pieces, ended, closed = queue.SimpleQueue(), object(), threading.Event()

    def take(_prompt, _text, piece):
        pieces.put(piece)
        return closed.is_set()

    def write():
        try:
            generator.generate(prompt, callback=take, **options)
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


@_method_of(Generator)
def _stream(self, prompt, **options):
    """Yields the text that continues the prompt, piece by piece. Closing the iterator ends the text.

    Options are those of generate().

    >>> for piece in generator.stream("once upon", temperature=0):
    ...     print(piece, end="", flush=True)
     a time there was a dog
    """
    if not isinstance(prompt, str):
        raise _wrong("prompt", "a str", prompt)
    if "callback" in options:
        raise _heed.WrongArgument("() got an unexpected keyword argument 'callback'")
    return _pieces(self, prompt, options)


@_method_of(Generator)
def _chat(self, messages, **options):
    """The model's answer to a conversation, a list of {"role": ..., "content": ...}, by its chat template.

    Options are those of generate().

    >>> generator.chat([{"role": "user", "content": "once upon"}], temperature=0).text
    ' a time there was a dog'
    """
    try:
        messages = list(messages)
    except TypeError:
        raise _wrong("messages", "a list of dicts", messages) from None
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or \
                not isinstance(message.get("content"), str):
            raise _heed.WrongArgument("""(): argument 'messages' must be dicts with a "role" and a "content" of str""")
    return self._chat(messages, **options)


Encoder.similarity = staticmethod(similarity)


def _toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return repr(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    raise _heed.WrongArgument(f"(): a {type(value).__name__} is not a setting of a recipe")


def recipe_text(recipe):
    """A recipe, a dict of tables, in TOML.

    >>> print(heed.recipe_text({"model": {"heads": 4, "gated": True}, "data": {"train": ["a.txt"]}}))
    [model]
    heads = 4
    gated = true
    [data]
    train = ["a.txt"]
    """
    lines = [f"{key} = {_toml(value)}" for key, value in recipe.items() if not isinstance(value, Mapping)]
    for name, table in recipe.items():
        if isinstance(table, Mapping):
            lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines)


class Recipe(MutableMapping):
    """The settings of a training run, by names such as "model.heads".

        >>> recipe = heed.Recipe({"model": {"heads": 4}})
        >>> recipe["model.heads"], recipe["model.norm_placement"]
        (4, 'pre')
        >>> recipe["training.updates"] = 100
        >>> recipe.to_dict()
        {'model': {'heads': 4}, 'training': {'updates': 100}}
        >>> recipe["model.heads"] = "two"
        Traceback (most recent call last):
        heed.ConfigError: recipe: heads must be an integer

    It has every setting that its task has: those that were given, and what the others then are. del gives one back to
    that. A value that is wrong is refused at once, and nothing has changed.
    """

    @_names_itself
    def __init__(self, recipe, overrides=()):
        """recipe is a file, a dict of tables, or another Recipe; overrides are "table.key=value"."""
        self._take(_settings_of(recipe, overrides))

    @classmethod
    @_names_itself
    def load(cls, path, overrides=()):
        """From a file in TOML.

        >>> heed.Recipe.load("recipe.toml", overrides=["training.updates=9"])["training.updates"]
        9
        """
        if not isinstance(path, (str, os.PathLike)):
            raise _wrong("path", "a path", path)
        return cls(path, overrides)

    def _take(self, settings):
        self._all = {key: value for key, value, _ in settings}
        self._given = {key: value for key, value, is_given in settings if is_given}

    def __getitem__(self, key):
        return self._all[key]

    def __setitem__(self, key, value):
        self.set({key: value})

    def __delitem__(self, key):
        if key not in self._all:
            raise KeyError(key)
        self._take(_settings_of(_tables({name: value for name, value in self._given.items() if name != key})))

    def __iter__(self):
        return iter(self._all)

    def __len__(self):
        return len(self._all)

    def __repr__(self):
        return f"Recipe({self.to_dict()!r})"

    @_names_itself
    def set(self, settings):
        """Sets several at once, from a dict by their names.

        >>> recipe = heed.Recipe({"model": {"heads": 4}})
        >>> recipe.set({"model.model": 64, "model.heads": 2})
        >>> recipe["model.model"] // recipe["model.heads"]
        32
        """
        if not isinstance(settings, Mapping):
            raise _wrong("settings", "a dict", settings)
        for key in settings:
            if not isinstance(key, str) or "." not in key:
                raise _heed.WrongArgument(f'(): settings have names such as "model.heads", not {key!r}')
        self._take(_settings_of(_tables({**self._given, **settings})))

    def to_dict(self):
        """What was given, as a dict of tables.

        >>> heed.Recipe({"model": {"heads": 4}}, overrides=["model.heads=2"]).to_dict()
        {'model': {'heads': 2}}
        """
        return _tables(self._given)

    @_names_itself
    def save(self, path):
        """Writes what was given to a file in TOML.

        >>> recipe = heed.Recipe({"model": {"heads": 2}})
        >>> recipe.save("saved.toml")
        >>> heed.Recipe.load("saved.toml") == recipe
        True
        """
        if not isinstance(path, (str, os.PathLike)):
            raise _wrong("path", "a path", path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(recipe_text(self.to_dict()) + "\n")


Recipe.__module__ = __name__


def _tables(settings):
    tables = {}
    for key, value in settings.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, {})[name] = value
    return tables


def _check_recipe(recipe):
    if not isinstance(recipe, (str, os.PathLike, Mapping)):
        raise _wrong("recipe", "a path, a dict or a Recipe", recipe)


@contextlib.contextmanager
def _file_of(recipe):
    """The file of a recipe of any kind. Errors do not name one that nobody knows."""
    _check_recipe(recipe)
    if isinstance(recipe, (str, os.PathLike)):
        yield recipe
        return
    import tempfile  # which takes as long as the rest of Python's modules together
    text = recipe_text(recipe.to_dict() if isinstance(recipe, Recipe) else recipe)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "recipe.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            yield path
        except (ConfigError, FormatError) as error:
            if path not in str(error):
                raise
            raise type(error)(re.sub(re.escape(path) + r"(:\d+)?", "recipe", str(error))) from None


def _settings_of(recipe, overrides=()):
    with _file_of(recipe) as path:
        return _heed._settings(path, overrides)


@_names_itself
def plan(recipe, *, overrides=(), length=0, threads=0, run=False):
    """What a recipe's training takes: parameters, FLOPs and bytes of memory by their parts.

    length: tokens of a sequence; 0 is the recipe's context, or the usual length of a sentence
    run: times some updates on random tokens, too

    >>> cost = heed.plan("recipe.toml")
    >>> cost["parameters"] == sum(part["parameters"] for part in cost["parts"].values())
    True
    """
    with _file_of(recipe) as path:
        return _heed._plan(path, overrides, length, threads, run)


@_names_itself
def train(recipe, output, *, callbacks=(), overrides=(), resume=False, threads=0, device="cpu"):
    """Trains a model and leaves a model directory behind.

    recipe is a file, a dict of its tables, or a Recipe. Each callback is called with a dict for each event: "message",
    "train" (loss, learning_rate, tokens_per_second ...) and "validation" (loss, bleu ...). When one returns something
    true the run saves its state and ends; what one raises is raised again then; and so does Ctrl-C. With resume, the
    same call goes on. Returns a dict with the reason of the end and the number of parameters.

    >>> recipe = heed.Recipe.load("recipe.toml")
    >>> recipe["training.updates"] = 4
    >>> losses = []
    >>> heed.train(recipe, "trained", callbacks=lambda event: losses.append(event.get("loss")), threads=1)["reason"]
    'updates'
    """
    _check_recipe(recipe)
    callbacks = (callbacks,) if callable(callbacks) else callbacks
    if not isinstance(callbacks, (list, tuple)) or not all(map(callable, callbacks)):
        raise _wrong("callbacks", "a callable or a list of them", callbacks)
    with _file_of(recipe) as path:
        return _heed._train(path, output, callbacks, overrides, resume, threads, device)
