"""heed demo: a short run from end to end, what it refuses, and how it is interrupted."""

import re
import resource
import signal
import unittest

import heed_cli
from heed_cli import BINARY, heed
from terminal import Terminal


class Demo(heed_cli.CliTest):
    def setUp(self):
        super().setUp()
        self.out = self.path / "demo"
        self.model = self.out / "model"

    def on_terminal(self, *options):
        terminal = Terminal("demo", "--out", self.out, *options, columns=100)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_short_run_shows_translations_a_score_and_a_report(self):
        result = heed("demo", "--out", self.out, "--updates", 4, timeout=240)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("validation at update 4: ", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^400 test sentences: BLEU \d+\.\d, chrF2 \d+\.\d, \d+ sentences/s$")
        self.assertIn("</html>", (self.model / "report.html").read_text())
        self.assertIn(f"curves and attention: {self.model}/report.html\n", result.stdout)
        again = {path: path.stat().st_mtime_ns for path in self.out.rglob("*")}
        self.assert_refused("demo", "--out", self.out, "--updates", 4, mentions=(self.out, "--out"))
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.out.rglob("*")}, again)
        self.check_what_comes_next(result.stdout)

    def check_what_comes_next(self, shown):
        """The commands it shows begin with the program as it was called, and work."""
        commands = shown.split("Next:\n")[1]
        self.assertNotRegex(commands, r"(?m)(^|\| ) *heed ")
        self.assertEqual(commands.count(f"{BINARY} "), 3)
        translate = re.search(r"translate (--model \S+ --beam 4)\n", commands)
        recipe = re.search(r"train (\S+) ", commands)
        translated = heed("translate", *translate[1].split(), text="Morgen kauft die Frau einen neuen Tisch.\n")
        self.assertEqual((translated.returncode, translated.stdout.count("\n")), (0, 1), translated)
        self.assertEqual(heed("inspect", recipe[1]).returncode, 0)
        again = heed("train", recipe[1], "--out", self.path / "again", "--set", "training.updates=1", cwd="/")
        self.assertEqual((again.returncode, again.stderr), (0, ""))

    def test_help_says_how_many_updates(self):
        self.assertRegex(heed("demo", "--help").stdout, r"--updates N .*\[1200\]")

    def test_a_refused_run_leaves_nothing_behind(self):
        self.assert_refused("demo", "--out", "/proc/nowhere/demo", mentions=("/proc/nowhere/demo", "cannot create"))
        self.assert_refused("demo", "--out", self.file("taken", "x"), mentions=("taken",))
        self.assert_refused("demo", "--out", self.out, "--updates", 0, mentions=("0 updates", "1 or more"))
        self.assert_refused("demo", "--out", self.out, "--updates", "few", mentions=("--updates",))
        self.assertFalse(self.out.exists())

    def test_a_full_disk_leaves_nothing_behind(self):
        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        result = heed("demo", "--out", self.out, preexec_fn=little_room)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result)
        self.assertIn("cannot write", result.stderr)
        self.assertFalse(self.out.exists())

    def test_interrupted_in_training_it_ends_and_can_be_resumed(self):
        terminal = self.on_terminal("--updates", 100000)
        terminal.read_until("update ")
        terminal.process.send_signal(signal.SIGINT)
        text = terminal.read_all()
        self.assertEqual(terminal.status(), 0, text)
        shown = re.search(r"stopped; to go on: (\S+) (train .* --resume)\r\n$", text)
        self.assertIsNotNone(shown, text)
        self.assertEqual(shown[1], BINARY)
        self.assertNotIn("test sentences", text)
        self.assertFalse((self.model / "report.html").exists())
        result = heed(*shown[2].split(), "--set", "training.updates=1")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("resuming after update", result.stdout)

    def test_interrupted_after_training_it_ends_at_once(self):
        # The interrupt may come too late, when all is done; but not five times.
        for attempt in range(5):
            self.out = self.path / f"demo-{attempt}"
            terminal = self.on_terminal("--updates", 1)
            terminal.read_until("Sentences whose")
            terminal.process.send_signal(signal.SIGINT)
            text = terminal.read_all()
            if terminal.status() == -signal.SIGINT:
                return
        self.fail(text)


if __name__ == "__main__":
    unittest.main()
