"""Manual pages and completion, which heed makes of its table of commands: they hold what --help shows.

mandoc or groff, zsh and fish are tried where they are (Debian packages of these names); bash always."""

import os
import re
import shutil
import subprocess
import unittest

import heed_cli
from heed_cli import heed


def options_in_help(text):
    return set(re.findall(r"(?m)^  (--[a-z0-9-]+)", text))


def places():
    """The words of each command that help shows, those of commands within commands too: (), ("bench",), ..."""
    found = []

    def add(words):
        found.append(words)
        text = heed(*words, "--help").stdout
        if "\nCommands:\n" in text:
            for name in re.findall(r"(?m)^  ([a-z-]+)  ", text.split("\nCommands:\n")[1].split("\nOptions:\n")[0]):
                add((*words, name))

    add(())
    return found


class SelfDescribe(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        cls.places = places()
        cls.help = {words: heed(*words, "--help").stdout for words in cls.places}

    def pages(self):
        folder = self.path / "man"
        folder.mkdir(exist_ok=True)
        result = heed("self-describe", "--man", folder)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        return {page.name: page.read_text() for page in folder.iterdir()}

    def completion(self, shell):
        result = heed("self-describe", "--completion", shell)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return self.file(f"heed.{shell}", result.stdout)

    def test_it_is_not_shown(self):
        self.assertNotIn("self-describe", heed("--help").stdout)
        self.assertNotIn("self-describe", self.assert_refused("nonsense"))
        self.assertNotIn("self-describe", "".join(self.pages().values()))
        self.assert_refused("self-describe", "--completion", "tcsh", mentions=("--completion", "tcsh", "bash, zsh"))
        self.assert_refused("self-describe", "--man", self.path / "none", mentions=(self.path / "none",))

    def test_each_command_has_a_page_with_what_help_shows(self):
        pages = self.pages()
        self.assertGreater(len(self.places), 30)
        self.assertEqual(set(pages), {"-".join(("heed", *words)) + ".1" for words in self.places})
        for words in self.places:
            page = pages["-".join(("heed", *words)) + ".1"].replace("\\-", "-")
            self.assertEqual(set(re.findall(r"(?m)^\\fB(--[a-z0-9-]+)\\fR", page)), options_in_help(self.help[words]), words)
            summary = re.match(r"[a-z -]+: (.*)", self.help[words]).group(1)
            self.assertIn(f" - {summary}\n", page.replace("\\ - ", " - "), words)
            self.assertIn(re.search(r"Usage: heed.* (\S+)\n", self.help[words]).group(1), page, words)

    def test_manual_pages_are_well_formed(self):
        self.pages()
        pages = sorted((self.path / "man").iterdir())
        tools = [command for command in (["mandoc", "-Tlint", "-Werror"], ["groff", "-man", "-Tutf8", "-ww", "-z"])
                 if shutil.which(command[0])]
        if not tools:
            self.skipTest("neither mandoc nor groff")
        for tool in tools:
            for page in pages:
                result = subprocess.run([*tool, page], capture_output=True, text=True, timeout=60)
                self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""), page)

    def bash(self, *words):
        """What bash offers for the last word."""
        script = f"source {self.completion('bash')}; compopt() {{ :; }}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _heed; " \
                 "printf '%s\\n' \"${COMPREPLY[@]}\""
        result = subprocess.run(["bash", "--norc", "-c", script, "bash", *map(str, words)], capture_output=True, text=True,
                                timeout=60, cwd=self.path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_bash_offers_what_help_shows(self):
        subprocess.run(["bash", "-n", self.completion("bash")], check=True)
        for words in self.places:
            self.assertEqual(set(self.bash("heed", *words, "--")), options_in_help(self.help[words]), words)
        self.assertEqual(self.bash("heed", "tr"), ["train", "translate"])
        self.assertEqual(self.bash("heed", "tokenizer", "train", "--kin"), ["--kind"])
        self.assertEqual(self.bash("heed", "translate", "--precision", ""), ["auto", "f32", "bf16"])
        self.assertEqual(self.bash("heed", "translate", "--precision", "=", "b"), ["bf16"])
        self.assertEqual(self.bash("heed", "translate", "--beam", ""), [])

    def test_bash_offers_files_and_folders(self):
        (self.path / "a model").mkdir()
        self.file("model.txt", "")
        self.assertEqual(self.bash("heed", "translate", "--model", "a"), ["a", "model"])
        self.assertEqual(self.bash("heed", "translate", "--model", "m"), [])
        self.assertEqual(self.bash("heed", "score", "--source", "mo"), ["model.txt"])
        self.assertEqual(self.bash("heed", "train", "mo"), ["model.txt"])

    def test_zsh_offers_commands_and_options(self):
        script = self.completion("zsh")
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        subprocess.run(["zsh", "-n", script], check=True)
        text = script.read_text()
        for words in self.places:
            body = re.search(rf"(?ms)^{'_'.join(('_heed', *words))}\(\) \{{\n(.*?)^\}}", text).group(1)
            self.assertEqual(set(re.findall(r"'\*?(--[a-z0-9-]+)", body)), options_in_help(self.help[words]), words)

    def test_fish_offers_commands_and_options(self):
        script = self.completion("fish")
        if not shutil.which("fish"):
            self.skipTest("no fish")
        self.file("recipe.toml", "")
        lines = [" ".join(("heed", *words, "--")) for words in self.places]
        lines += ["heed tokenizer ", "heed translate --precision ", "heed train re"]
        program = f"source {script}\n" + "".join(f"complete -C '{line}'; echo =\n" for line in lines)
        result = subprocess.run(["fish", "--no-config", "-c", program], capture_output=True, text=True, timeout=120, cwd=self.path,
                                env={**os.environ, "HOME": str(self.path)})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        offers = [[line.split("\t")[0] for line in one.splitlines() if line] for one in result.stdout.split("=\n")]
        for words, found in zip(self.places, offers):
            self.assertEqual(set(found), options_in_help(self.help[words]), words)
        self.assertEqual(offers[len(self.places)], ["decode", "encode", "inspect", "train"])
        self.assertEqual(sorted(offers[len(self.places) + 1]), ["auto", "bf16", "f32"])
        self.assertEqual(offers[len(self.places) + 2], ["recipe.toml"])


if __name__ == "__main__":
    unittest.main()
