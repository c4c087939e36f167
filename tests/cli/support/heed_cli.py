"""What the tests of the program share: how to run it, and how every user error must look."""

import os
import pathlib
import platform
import subprocess
import tempfile
import unittest

BINARY = os.environ["HEED_BINARY"]
SOURCE = pathlib.Path(os.environ["HEED_SOURCE_DIR"])
RECIPE = SOURCE / "recipes" / "tutorial-2x2.toml"


def is_emulated():
    return BINARY.endswith("_emulated")


def is_arm():
    return is_emulated() or platform.machine() == "aarch64"


# HEED_CPU, the least first.
CPU_LIMITS = ("neon", "dotprod", "i8mm", "bf16") if is_arm() else ("sse4", "avx2", "avxvnni", "avx512")
# By how much limits of time are multiplied where programs are emulated.
PATIENCE = 15 if is_emulated() else 1


def run(*arguments, text="", timeout=120, environment=None, **options):
    """Runs the program with text or bytes as its standard input and returns what it writes as bytes. `environment` is
    added to the test's own."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([BINARY, *map(str, arguments)], timeout=timeout * PATIENCE,
                          env={**os.environ, "LC_ALL": "C", **(environment or {})},
                          input=text if isinstance(text, bytes) else text.encode(), **streams)


def heed(*arguments, **options):
    """The same, with what the program writes as text."""
    result = run(*arguments, **options)
    for stream in ("stdout", "stderr"):
        setattr(result, stream, getattr(result, stream).decode("utf-8", "surrogateescape"))
    return result


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def file(self, name, content):
        path = self.path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def recipe_with(self, **changes):
        """The tutorial's recipe with some values replaced."""
        lines = RECIPE.read_text().splitlines()
        for key, value in changes.items():
            found = [i for i, line in enumerate(lines) if line.startswith(key + " = ")]
            if found:
                lines[found[0]] = f"{key} = {value}"
            else:
                lines.append(f"{key} = {value}")
        return self.file("recipe.toml", "\n".join(lines) + "\n")

    def assert_refused(self, *arguments, mentions=(), text="", stdout="", environment=None):
        """Status 2, and one line on stderr that holds all of `mentions`. Stdout is empty, or `stdout` where a command
        has written something before the error; None allows anything."""
        result = heed(*arguments, text=text, environment=environment)
        context = f"heed {' '.join(map(str, arguments))}: status {result.returncode}, {result.stderr!r}"
        self.assertEqual(result.returncode, 2, context)
        self.assertEqual(result.stdout, result.stdout if stdout is None else stdout, context)
        self.assertEqual(result.stderr.count("\n"), 1, context)
        self.assertTrue(result.stderr.startswith("heed: "), context)
        self.assertTrue(result.stderr.endswith("\n"), context)
        for mention in mentions:
            self.assertIn(str(mention), result.stderr)
        return result.stderr
