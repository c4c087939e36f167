"""docs/tutorial.md: its commands run, and print what the page shows but for the figures, here on a small text and with few
updates."""

import os
import pathlib
import re
import socket
import subprocess
import tempfile
import unittest

from page_commands import write_text

BINARY = pathlib.Path(os.environ["HEED_BINARY"]).resolve()
SOURCE = pathlib.Path(os.environ["HEED_SOURCE_DIR"]).resolve()
PAGE = SOURCE / "docs" / "tutorial.md"
SMALL = " ".join(f"--set {setting}" for setting in ("training.updates=20", "schedule.length=20", "schedule.warmup=2",
                                                    "training.log_every=10", "validation.every=10"))


def commands_of(page):
    """(command, what it prints) of the page's blocks, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
            found.append((command, printed))
    return found


def form_of(line):
    """A line without its figures, the words of a translation, and the precision, which the processor decides."""
    line = re.sub(r"\((bf16|f32), ", "(precision, ", line)
    line = re.sub(r"\|\|\| .* \|\|\||\"text\":\"[^\"]*\"", "||| ... |||", line)
    line = re.sub(r" \(best\)", "", line).replace(" threads", " thread")
    line = re.sub(r"\(p = [^)]*\)|\*", "", line)
    return re.sub(r"\s+", " ", re.sub(r"[+-]?\d[\d.,:]*(e[+-]\d+)?", "#", line)).strip()


def forms_of(printed):
    return {form_of(line) for line in printed.splitlines() if line.strip() and line.strip() != "..."}


class Tutorial(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        (self.path / "recipes").symlink_to(SOURCE / "recipes")
        (self.path / "bin").mkdir()
        (self.path / "bin" / "heed").symlink_to(BINARY)
        for seed, lines, name in ((1, 600, "train"), (2, 20, "valid"), (3, 30, "test")):
            write_text(self.path, seed, lines, name)

    def environment(self):
        return {**os.environ, "LC_ALL": "C", "PATH": f"{self.path / 'bin'}:{os.environ['PATH']}"}

    def run_command(self, command):
        result = subprocess.run(["bash", "-c", command], cwd=self.path, env=self.environment(), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def first_line_of_server(self, command):
        server = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=self.path, env=self.environment(),
                                  stdout=subprocess.PIPE, text=True)
        for end in (server.stdout.close, lambda: server.wait(60), server.terminate):
            self.addCleanup(end)
        return server.stdout.readline()

    def test_each_command_runs_and_prints_what_the_page_shows(self):
        commands = commands_of(PAGE.read_text())
        self.assertGreaterEqual(len(commands), 6)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        for command, shown in commands:
            command = command.replace("8080", port)
            with self.subTest(command):
                if command.endswith(" &"):
                    printed = self.first_line_of_server(command.removesuffix(" &"))
                else:
                    printed = self.run_command(f"{command} {SMALL}" if command.startswith("heed train") else command)
                self.assertEqual(forms_of(printed), forms_of(shown))

    def test_a_line_of_another_form_is_noticed(self):
        self.assertEqual(form_of("update 100  epoch 0.43  norm 0.74  8292 tokens/s  0:24"),
                         form_of("update 20  epoch 1.50  norm 1.1  92 tokens/s  10:24"))
        self.assertNotEqual(form_of("update 100  epoch 0.43  norm 0.74"), form_of("update 100  loss 0.43  norm 0.74"))
        self.assertEqual(form_of("9 tokens/s (bf16, 2 threads)"), form_of("8 tokens/s (f32, 2 threads)"))
        self.assertNotEqual(form_of("9 tokens/s (bf16, 2 threads)"), form_of("8 tokens/s (int8, 2 threads)"))
        self.assertEqual(form_of("0 ||| a dog . ||| -0.4"), form_of("1 ||| two men ||| -1.25"))

    def test_commands_are_found_with_what_they_print(self):
        page = "Text\n```console\n$ heed a \\\n      --b\none\n$ heed c\n```\n"
        self.assertEqual(commands_of(page), [("heed a --b", "one\n"), ("heed c", "")])


if __name__ == "__main__":
    unittest.main()
