"""Misuse of each public function: a TypeError of one line, which names the function and the argument."""

import ast
import os
import pathlib
import subprocess
import tempfile
import types
import unittest

import numpy

import heed
from heed_cli import SOURCE
from public_names import public_names

# What functions take for arguments that they need, where the others are wrong.
SENSIBLE = {"a": [1.0], "b": [1.0], "batch": ["a"], "hypotheses": ["a"], "references": ["a"], "id": 5, "ids": [5],
            "messages": [{"role": "user", "content": "a"}], "recipe": {"model": {}}, "sentences": [["a"]], "sequences": [[5]],
            "settings": {}, "texts": ["a"]}
# Functions that hand on what else they are given.
CALLED = {"Generator.stream": "Generator.generate", "Recipe.load": "Recipe.__init__"}


def make_model(path, *options):
    subprocess.run([os.environ["HEED_MAKE_MODEL"], path, *options], check=True)
    return path


def arguments_in_hints():
    """For each function or method, the names of the arguments that it needs and of those that it may be given."""
    hints = ast.parse((SOURCE / "bindings/python/heed/__init__.pyi").read_text())
    found = {}

    def add(name, function, is_method):
        named = function.args.args[1:] if is_method else function.args.args
        needed = len(named) - len(function.args.defaults)
        found.setdefault(name, ([one.arg for one in named[:needed]],
                                [one.arg for one in named[needed:] + function.args.kwonlyargs]))

    for node in hints.body:
        if isinstance(node, ast.FunctionDef):
            add(f"heed.{node.name}", node, is_method=False)
        for item in getattr(node, "body", []) if isinstance(node, ast.ClassDef) else []:
            if isinstance(item, ast.FunctionDef):
                is_static = any(getattr(one, "id", "") == "staticmethod" for one in item.decorator_list)
                add(f"heed.{node.name}.{item.name}", item, is_method=not is_static)
    return found


class Misuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        generator = make_model(path / "generator", "architecture=causal-lm")
        (generator / "chat_template.jinja").write_text("{{ messages[0].content }}")
        translator = make_model(path / "translator")
        cls.instances = {"Translator": heed.Translator(translator), "Generator": heed.Generator(generator),
                         "Encoder": heed.Encoder(make_model(path / "encoder", "architecture=encoder")),
                         "Tokenizer": heed.Tokenizer(translator / "source.tokenizer"), "Recipe": heed.Recipe({"model": {}})}

    def functions(self):
        """Name in errors, what to call, arguments that it needs, arguments that it may be given."""
        hints = arguments_in_hints()
        for name, value in public_names():
            _, owner, *method = name.split(".")
            if method and owner in self.instances:
                # A static method is a function of the module, too.
                shown = value.__qualname__ if isinstance(value, types.FunctionType) else f"{owner}.{method[0]}"
                yield shown, getattr(self.instances[owner], method[0]), *hints[name]
            elif owner in self.instances:
                yield f"{owner}.__init__", value, *hints[f"{name}.__init__"]
            elif not isinstance(value, type):
                yield value.__name__, value, *hints[name]

    def misused(self, call, *arguments, **named):
        """What it says. An iterator says it when it is asked for something."""
        with self.assertRaises(TypeError) as raised:
            result = call(*arguments, **named)
            if hasattr(result, "__next__"):
                next(result)
        self.assertIs(type(raised.exception), TypeError)
        return str(raised.exception)

    def sensible(self, needed):
        return {name: SENSIBLE.get(name, "a") for name in needed}

    def test_there_are_functions_of_all_kinds(self):
        names = {name for name, *_ in self.functions()}
        self.assertGreater(len(names), 45)
        self.assertLess({"Translator.translate", "Generator.stream", "Tokenizer.__init__", "Recipe.set", "bleu"}, names)

    def test_missing_arguments(self):
        for name, call, needed, _ in self.functions():
            if needed:
                count = f"{len(needed)} required positional argument{'s' if len(needed) > 1 else ''}"
                names = " and ".join(f"'{one}'" for one in needed)
                with self.subTest(name):
                    self.assertEqual(self.misused(call), f"{name}() missing {count}: {names}")

    def test_too_many_arguments(self):
        for name, call, *_ in self.functions():
            with self.subTest(name):
                self.assertRegex(self.misused(call, *range(30)),
                                 rf"\A{name}\(\) takes (from \d+ to )?\d+ positional arguments? but 3\d were given\Z")

    def test_unknown_arguments(self):
        for name, call, needed, _ in self.functions():
            shown = name if name == "Recipe.load" else CALLED.get(name, name)
            with self.subTest(name):
                self.assertRegex(self.misused(call, **self.sensible(needed), nonsense=1),
                                 rf"\A{shown}\(\) got an unexpected keyword argument 'nonsense'(; it has .+)?\Z")

    def test_an_argument_given_twice(self):
        for name, call, needed, _ in self.functions():
            if needed:
                with self.subTest(name):
                    self.assertEqual(self.misused(call, "a", **{needed[0]: "b"}),
                                     f"{name}() got multiple values for argument '{needed[0]}'")

    def test_wrong_types(self):
        count = 0
        for name, call, needed, others in self.functions():
            for argument in needed + others:
                shown = name if argument in needed else CALLED.get(name, name)
                with self.subTest(f"{name}, {argument}"):
                    message = self.misused(call, **{**self.sensible(needed), argument: object()})
                    self.assertRegex(message, rf"\A{shown}\(\): argument '{argument}' must be .+, not object\Z")
                    count += 1
        self.assertGreater(count, 120)

    def test_what_is_inside_of_lists_and_other_instances(self):
        translator, tokenizer = self.instances["Translator"], self.instances["Tokenizer"]
        for call, message in [
                (lambda: translator.translate(["a", 1]),
                 "Translator.translate(): argument 'texts[1]' must be a str, not int"),
                (lambda: translator.translate("a", beam_size=True),
                 "Translator.translate(): argument 'beam_size' must be an int, not bool"),
                (lambda: translator.translate("a", beam_size=numpy.array([[1], [2]])),
                 "Translator.translate(): argument 'beam_size' must be an int, not ndarray"),
                (lambda: translator.attention("a", "b", heads=[0, 0.5]),
                 "Translator.attention(): argument 'heads[1]' must be an int, not float"),
                (lambda: tokenizer.decode([2**31]),
                 f"Tokenizer.decode(): argument 'ids[0]' must be from {-2**31} to {2**31 - 1}, not {2**31}"),
                (lambda: heed.Translator.translate(3, "a"),
                 "Translator.translate(): argument 'self' must be a Translator, not int"),
                (lambda: heed.Translator.translate(),
                 "Translator.translate() missing 2 required positional arguments: 'self' and 'texts'"),
                (lambda: self.instances["Recipe"].set({"heads": 2}),
                 "Recipe.set(): settings have names such as \"model.heads\", not 'heads'")]:
            self.assertEqual(self.misused(call), message)

    def test_names_that_are_not_valid_text(self):
        for name, call, needed, _ in self.functions():
            with self.subTest(name):
                message = self.misused(call, **self.sensible(needed), **{"\ud800": 1})
                self.assertIn("got an unexpected keyword argument '\\ud800'", message.replace("\ud800", "\\ud800"))

    def test_a_stream_takes_no_callback(self):
        self.assertEqual(self.misused(self.instances["Generator"].stream, "a", callback=print),
                         "Generator.stream() got an unexpected keyword argument 'callback'")

    def test_a_type_error_of_a_callback_is_its_own(self):
        error = TypeError("translate(): incompatible function arguments")

        def fail(*_):
            raise error
        for call in (lambda: self.instances["Translator"].translate("a", callback=fail),
                     lambda: self.instances["Generator"].generate("a", callback=fail)):
            with self.assertRaises(TypeError) as raised:
                call()
            self.assertIs(raised.exception, error)


if __name__ == "__main__":
    unittest.main()
