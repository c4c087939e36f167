"""The commands of README.md and docs/ run, on small texts and models and with few updates. (docs/tutorial.md has a test
of its own, and so have commands that NOT_RUN names.)"""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import page_commands
from heed_cli import BINARY, SOURCE, heed
from mpirun import PLUGIN

# The beginnings of commands that do not run here, and why.
NOT_RUN = {
    "./quickstart": "installs packages; CI begins with it on a bare system",
    "./check": "is what runs this test",
    "cmake --install": "tests/install",
    "cmake --build": "builds; tests/bindings/python/test_wheel.py makes a wheel",
    "pip install": "tests/bindings/python/test_wheel.py",
    "sudo": "changes the system; tests/packages does it in a root of its own",
    "bench/compare": "needs PyTorch; tests/cli/writing/test_compare_slow.py",
    "heed train recipes/both-ways.toml": "trains for as many updates as its stages say; tests/cli/training/test_recipe_stages.py",
    "heed tune": "trains for minutes; tests/cli/training/test_tune.py",
    "recipes/encoders.sh": "downloads and trains for minutes; its recipes run here",
    "mpirun -n 2 --bind-to none heed ...": "stands for any command",
    "mpirun -n 2 --map-by socket": "stands for any command",
}
# What is replaced in a page's commands so that they are small, or so that they name what is here.
EVERYWHERE = {"build/heed": "heed", "RECIPE": "recipe.toml", "--minutes 30": "--minutes 0.1"}
TRAIN_FEW = ("--set training.updates=2 --set schedule.length=2 --set schedule.warmup=1 --set training.log_every=1 "
             "--set validation.every=2")
REPLACED = {
    "docs/decoding.md": {"heed generate --model model": "heed generate --model writer",
                         "heed choose --model model": "heed choose --model writer",
                         "heed perplexity --model model": "heed perplexity --model writer"},
    "docs/models/encoders.md": {"classify --model DIR": "classify --model classifier",
                                "tag --model DIR": "tag --model tagger", "embed --model DIR": "embed --model writer",
                                "fill --model DIR": "fill --model masked"},
    "docs/models/export.md": {"--model model --format huggingface": "--model opus-mt-de-en --format huggingface",
                              "--model model --out model.gguf": "--model Qwen2.5-0.5B --out model.gguf"},
    # Random bytes are no text that could be scored.
    "docs/models/quantization.md": {"--model model": "--model words"},
    # It takes 56 tokens, and knows few words.
    "docs/models/import.md": {"< test.de": "< text"},
    "docs/chat.md": {"--model model": "--model chat"},
    "docs/fine-tuning.md": {"RUN": "adapter", "MERGED": "merged"},
    "docs/gpu.md": {"--device cuda": "--device cpu"},
    "docs/performance.md": {"--shape gpt2": "--shape gpt-char --prompt 16 --tokens 2 --streams 1"},
    # The word models have 512 columns: enough for two updates on few sentences.
    "docs/results.md": {"--set training.epochs=20": "--set training.epochs=20 --set data.batch_sentences=2"},
    "docs/scaling.md": {"heed plan recipes/multi30k-de-en.toml": "heed plan recipes/multi30k-de-en.toml --no-run"},
}
FOREIGN = {"opus-mt-de-en": "encoder_decoders/marian", "Qwen2.5-0.5B": "decoders/qwen2",
           "all-MiniLM-L6-v2": "encoders/sentence-minilm", "classifier": "encoders/bert-sequence",
           "tagger": "encoders/bert-token", "masked": "encoders/bert-masked"}
GOLDEN = SOURCE / "tests" / "interchange" / "golden"
MEASUREMENTS = sorted((SOURCE / "docs" / "measurements").glob("*.md"))
PAGES = [SOURCE / "README.md", *sorted(set((SOURCE / "docs").rglob("*.md")) - set(MEASUREMENTS))]


def reason_not_to_run(command):
    if command.startswith("mpirun") and (shutil.which("mpirun") is None or not PLUGIN.exists()) and \
            not any(command.startswith(begin) for begin in NOT_RUN):
        return "no mpirun"
    return next((why for begin, why in NOT_RUN.items() if command.startswith(begin)), "")


def small(page, command):
    """A page's command as it runs here."""
    command = page_commands.without_choices(command)
    for old, new in {**REPLACED.get(page, {}), **EVERYWHERE}.items():
        command = command.replace(old, new)
    if re.search(r"\bheed train\b", command) and "--resume" not in command:
        command += f" {TRAIN_FEW}"
        if "--source" in command:
            command += " --set schedule.kind=cosine"  # of the recipe that is made, which follows the time or not
    return command


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        top = tempfile.TemporaryDirectory()
        cls.addClassCleanup(top.cleanup)
        cls.top = pathlib.Path(top.name)
        texts = cls.top / "texts"
        texts.mkdir()
        for seed, lines, name in ((1, 300, "train"), (2, 10, "valid"), (2, 10, "val"), (3, 6, "test"), (3, 6, "test2016")):
            page_commands.write_text(texts, seed, lines, name)
        english, german = (texts / "train.en").read_text(), (texts / "test.de").read_text()
        for name, content in {
                "input.txt": english * 3, "held-out.txt": "a dog plays\n", "text.de": german, "texts": "a [MASK] dog\n",
                "text": "ein hund\n", "lines.txt": "a dog\n", "sentences": "a dog plays\n", "translated.en":
                    (texts / "test.en").read_text(), "test.tsv": "a dog\tneutral\na man\tpositive\n",
                "test.jsonl": '{"prompt": "a", "choices": [" dog", " man"], "answer": 0}\n',
                "test.txt": "a O\ndog O\n\n",
                "conversations.jsonl": '{"messages": [{"role": "user", "content": "Who is there?"}]}\n'}.items():
            (texts / name).write_text(content)
        cls.models = cls.top / "models"
        # A vocabulary with the words that pages force.
        forced = texts / "forced.en"
        forced.write_text(english + "a climbing frame on Tuesday with a lantern\n" * 200)
        words = (f"source={texts / 'train.de'}", f"target={forced}")
        cls.make_model("model", *words)
        cls.make_model("other", *words, "seed=7")
        cls.make_model("words", *words, "kind=word")
        cls.make_model("writer", "architecture=causal-lm", "documents=line", *words)
        cls.make_model("chat", "architecture=causal-lm", "documents=line", *words)
        shutil.copy(SOURCE / "tests" / "text" / "chat" / "templates" / "chatml.jinja", cls.models / "chat" / "chat_template.jinja")
        for name, golden in FOREIGN.items():
            shutil.copytree(GOLDEN / golden, cls.models / name)
        assert heed("export", "--model", cls.models / "model", "--format", "ctranslate2", "--out",
                    cls.models / "ct2-directory").returncode == 0

    @classmethod
    def make_model(cls, name, *settings):
        subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.models / name, "width=32", "layers=1", "max_length=128", *settings],
                       check=True, stdout=subprocess.DEVNULL)

    def folder_for(self, page):
        """Where a page's commands run: with recipes, texts, models, and the program as heed."""
        folder = self.top / page.replace("/", "-") / "project"
        shutil.copytree(self.top / "texts", folder)
        shared = folder.parent / "shared" / "data"
        shutil.copytree(self.top / "texts", shared / "multi30k")
        (shared / "shakespeare").mkdir()
        shutil.copy(folder / "input.txt", shared / "shakespeare")
        for name in ("recipes", "bin", "runs"):
            (folder / name).mkdir()
        for recipe in (SOURCE / "recipes").iterdir():
            (folder / "recipes" / recipe.name).symlink_to(recipe)
        (folder / "bin" / "heed").symlink_to(pathlib.Path(BINARY).resolve())
        for model in self.models.iterdir():
            (folder / model.name).symlink_to(model)
        recipe = (SOURCE / "recipes" / "multi30k-de-en.toml").read_text()
        for key, value in (("model", 16), ("inner", 16), ("encoder_layers", 2), ("decoder_layers", 2), ("vocabulary", 300),
                           ("batch_target_tokens", 200), ("updates", 2), ("warmup", 1), ("length", 2), ("every", 2),
                           ("log_every", 1)):
            recipe = re.sub(rf"(?m)^{key} = \d+$", f"{key} = {value}", recipe)
        (folder / "recipe.toml").write_text(recipe)
        if page == "docs/models/encoders.md":
            self.prepare_encoders(folder)
        if page in ("docs/models/inspect.md", "docs/report.md", "docs/fine-tuning.md"):
            self.run_in(folder, "heed train recipe.toml --out runs/base --threads 1")
        if page == "docs/report.md":
            self.run_in(folder, "heed train recipe.toml --out runs/wide --threads 1 --set model.inner=32")
        if page == "docs/fine-tuning.md":
            self.run_in(folder, "heed train recipe.toml --out adapter --threads 1 --set training.from=runs/base "
                                "--set adapter.rank=2")
        return folder

    @staticmethod
    def prepare_encoders(folder):
        """What recipes/encoders.sh makes."""
        (folder / "made").mkdir()
        for name in ("train", "val"):
            lines = [(folder / f"{name}.{language}").read_text().splitlines()[:20] for language in ("de", "en")]
            (folder / "made" / f"language-{name}.tsv").write_text("".join(
                f"{text}\t{language}\n" for pair in zip(*lines) for text, language in zip(pair, ("de", "en"))))

    def run_in(self, folder, command):
        environment = {**os.environ, "LC_ALL": "C", "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HEED_MPI": str(PLUGIN),
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environment, input="Hello\n",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
        return done.stdout

    @staticmethod
    def make_room(folder, command):
        """Removes what a command is to write: each is there already, from here or from another block of the page."""
        found = re.search(r"--out (\S+)", command)
        if not found or "--resume" in command:
            return
        output = folder / found[1]
        if output.is_dir() and not output.is_symlink():
            shutil.rmtree(output)
        else:
            output.unlink(missing_ok=True)

    def run_server(self, folder, commands):
        """A block whose first command serves the others."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        commands = [command.replace("8080", str(port)).replace("writer=gpt", "writer=writer") for command in commands]
        server = subprocess.Popen(["bash", "-c", f"exec {commands[0]}"], cwd=folder, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})
        try:
            self.assertIn("heed serves at", server.stdout.readline())
            for command in commands[1:]:
                answer = self.run_in(folder, command.replace("curl ", "curl --silent --show-error --fail "))
                self.assertIn('"translations"', answer)
        finally:
            server.terminate()
            server.wait(60)
            server.stdout.close()

    def test_each_command_of_each_page_runs(self):
        count = 0
        for path in PAGES:
            page = str(path.relative_to(SOURCE))
            blocks = [[small(page, command) for command in block if not reason_not_to_run(command)]
                      for block in page_commands.commands_of(path.read_text())]
            if page == "docs/tutorial.md" or not any(blocks):
                continue
            folder = self.folder_for(page)
            for commands in filter(None, blocks):
                if commands[0].startswith("heed serve"):
                    with self.subTest(page=page, command=commands[0]):
                        self.run_server(folder, commands)
                    continue
                for command in commands:
                    self.make_room(folder, command)
                    count += 1
                    with self.subTest(page=page, command=command):
                        self.run_in(folder, command)
        self.assertGreater(count, 50)

    def test_options_that_pages_show_exist(self):
        helps, wrong, found = {}, [], 0
        for path in [*PAGES, SOURCE / "CONTRIBUTING.md", *MEASUREMENTS]:
            for words, option in sorted(page_commands.options_of(path.read_text())):
                found += 1
                if words not in helps:
                    helps[words] = heed(*words.split(), "--help").stdout
                if not re.search(rf"(?m)^  {option}\b(?!-)", helps[words]):
                    wrong.append(f"{path.name}: heed {words} {option}")
        self.assertEqual(wrong, [])
        self.assertGreater(found, 200)

    def test_each_reason_not_to_run_is_still_needed(self):
        commands = [command for path in PAGES for block in page_commands.commands_of(path.read_text()) for command in block]
        self.assertEqual([begin for begin in NOT_RUN if not any(command.startswith(begin) for command in commands)], [])
        for page, changes in REPLACED.items():
            shown = "\n".join(page_commands.without_choices(command) for block in
                              page_commands.commands_of((SOURCE / page).read_text()) for command in block)
            self.assertEqual([old for old in changes if old not in shown], [], page)

    def test_commands_are_found(self):
        page = ("Text\n\n    heed a --b \\\n        --c   # why\n    heed d [--e [--f G]] < h\n              --i\n\n"
                "    BLEU 1\n\n```console\n$ echo 'x' | heed j\nprinted\n```\n```toml\nheed = 1\n```\n    a = b\n`heed k --l`\n")
        self.assertEqual(page_commands.commands_of(page),
                         [["heed a --b --c", "heed d [--e [--f G]] < h --i"], ["echo 'x' | heed j"]])
        self.assertEqual(page_commands.without_choices("heed d [--e [--f G]] < h --i"), "heed d < h --i")
        self.assertEqual(page_commands.options_of(page),
                         {("a", "--b"), ("a", "--c"), ("d", "--e"), ("d", "--f"), ("k", "--l")})


if __name__ == "__main__":
    unittest.main()
