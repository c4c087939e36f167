"""heed prepare from outside: what it leaves, that training uses it to the same bits, and what is refused."""

import os
import resource
import shutil
import signal
import subprocess
import unittest

import test_train
import train_cli
from heed_cli import BINARY, heed


class Prepare(train_cli.TrainTest):
    def setUp(self):
        super().setUp()
        for name, pairs in (("train", test_train.PAIRS), ("valid", test_train.PAIRS[:9])):
            self.file(f"{name}.de", "".join(source + "\n" for source, _ in pairs))
            self.file(f"{name}.en", "".join(target + "\n" for _, target in pairs))
        self.recipe = self.file("recipe.toml", test_train.RECIPE.format(folder=self.path))
        self.corpus = self.path / "corpus"

    def prepare(self, *more, **options):
        return heed("prepare", self.recipe, "--out", self.corpus, *more, **options)

    def test_training_from_it_has_the_bits_of_training_from_text(self):
        result = self.prepare()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"^training text: 64 lines, 64 kept, 0 dropped.*\nprepared in \d+\.\d s: .*--prepared")
        self.assertEqual({path.name for path in self.corpus.iterdir()},
                         {"prepared.json", "arrays.safetensors", "1.tokenizer"})
        self.train("text")
        for name in ("train.de", "train.en", "valid.de", "valid.en"):
            os.remove(self.path / name)
        # Two at once, one of them stopped and resumed.
        commands = [[BINARY, "train", str(self.recipe), "--out", str(self.path / name), "--prepared", str(self.corpus)]
                    for name in ("one", "other")]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
        processes[1].stdout.readline()
        while not (self.path / "other" / "recipe.toml").exists() and processes[1].poll() is None:
            pass
        processes[1].send_signal(signal.SIGKILL)
        output = processes[0].communicate(timeout=60)[0]
        processes[1].communicate(timeout=60)
        self.assertEqual(processes[0].returncode, 0)
        self.assertIn("training text (prepared): 64 lines", output)
        self.assertEqual(self.weights("one"), self.weights("text"))
        result = self.train("other", "--resume")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("training text (prepared)", result.stdout)
        self.assertEqual(self.weights("other"), self.weights("text"))

    def test_killed_it_leaves_no_corpus_and_the_next_one_goes_on(self):
        os.remove(self.path / "train.de")
        self.file("train.de", "".join(source + "\n" for source, _ in test_train.PAIRS) * 3000)
        self.file("train.en", "".join(target + "\n" for _, target in test_train.PAIRS) * 3000)
        process = subprocess.Popen([BINARY, "prepare", str(self.recipe), "--out", str(self.corpus)],
                                   stdout=subprocess.DEVNULL)
        while not (self.path / "corpus.partial").exists():
            pass
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertFalse(self.corpus.exists())
        self.assertEqual(self.prepare().returncode, 0)
        self.assertTrue(self.corpus.exists())
        self.assertFalse((self.path / "corpus.partial").exists())

    def test_what_cannot_be_written_is_refused(self):
        self.corpus.mkdir()
        self.assert_refused("prepare", self.recipe, "--out", self.corpus, mentions=[self.corpus, "exists already"])
        self.assert_refused("prepare", self.recipe, "--out", "/proc/corpus", mentions=["cannot create the folder"])
        self.assert_refused("prepare", self.recipe, "--out", self.path / "train.de" / "corpus",
                            mentions=["cannot create the folder"])
        self.assert_refused("prepare", self.path / "absent.toml", "--out", self.path / "new", mentions=["absent.toml"])

    def test_a_full_disk_leaves_nothing_behind(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        result = subprocess.run([BINARY, "prepare", str(self.recipe), "--out", str(self.corpus)], capture_output=True,
                                text=True, timeout=60, preexec_fn=limit)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^heed: .*corpus.partial/.*cannot write.*\n$")
        self.assertEqual([path.name for path in self.path.iterdir() if path.name.startswith("corpus")], [])

    def test_a_corpus_that_does_not_fit_is_refused_in_one_line(self):
        self.assertEqual(self.prepare().returncode, 0)
        train = ["train", self.recipe, "--out", self.path / "run", "--prepared", self.corpus]
        self.assert_refused(*train, "--set", "data.max_length=39",
                            mentions=["data.max_length = 40, but the recipe has 39: prepare it again"])
        self.assert_refused(*train[:-1], self.path / "nowhere", mentions=["there is no such folder"])
        self.assert_refused(*train[:-1], self.path, mentions=["it has no prepared.json"])
        for name in ("prepared.json", "arrays.safetensors", "1.tokenizer"):
            whole = (self.corpus / name).read_bytes()
            for content in (b"", whole[: len(whole) // 2], b"\0" * len(whole), os.urandom(1000)):
                (self.corpus / name).write_bytes(content)
                self.assert_refused(*train, mentions=[self.corpus / name])
            (self.corpus / name).unlink()
            self.assert_refused(*train, mentions=[self.corpus])
            (self.corpus / name).write_bytes(whole)
        self.file("train.de", "der Mann sieht die Stadt.\n")
        self.assert_refused(*train, mentions=["was prepared from another text", "train.de had", "(data.train_source)"])
        self.assertFalse((self.path / "run").exists())
        shutil.rmtree(self.corpus)
        self.assert_refused(*train, mentions=["there is no such folder"])


if __name__ == "__main__":
    unittest.main()
