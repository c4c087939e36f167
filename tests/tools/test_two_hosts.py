"""bench/two_hosts: what it reads and computes, and the link that it makes where the machine allows it."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
SCRIPT = str(ROOT / "bench" / "two_hosts")


def load():
    loader = importlib.machinery.SourceFileLoader("two_hosts", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("two_hosts", loader))
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
two_hosts = load()


class Words(unittest.TestCase):
    def refusal(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as end:
            two_hosts.arguments_of(words)
        self.assertEqual(end.exception.code, 2)
        return said.getvalue()

    def test_help_names_the_options(self):
        result = subprocess.run([sys.executable, SCRIPT, "--help"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for word in ("--links", "--set", "--layout", "Ctrl-C"):
            self.assertIn(word, result.stdout)

    def test_links_are_rates_or_none(self):
        links = two_hosts.arguments_of(["--links", "none", "2.5Gbit", "100Mbit", "300bit"]).links
        self.assertEqual(links, [None, 2.5e9, 1e8, 300.0])
        for text in ("1GB", "fast", "0Gbit", "1.2.3Gbit", "-1Gbit"):
            self.assertIn("--links", self.refusal("--links", text))

    def test_numbers_are_above_zero_and_settings_have_a_key(self):
        self.assertIn("0 is not a number above 0", self.refusal("--updates", "0"))
        self.assertIn("expected table.key=value", self.refusal("--set", "local_updates=3"))

    def test_a_setting_goes_before_the_recipe(self):
        with tempfile.TemporaryDirectory() as folder:
            recipe = pathlib.Path(folder) / "recipe.toml"
            recipe.write_text("[training]\nlocal_updates = 50\n")
            arguments = two_hosts.arguments_of([str(recipe)])
            self.assertEqual(two_hosts.local_updates(arguments), 50)
            arguments = two_hosts.arguments_of([str(recipe), "--set", "training.local_updates=5", "--updates", "7"])
            bench = two_hosts.Bench(arguments, None, None)
            self.assertEqual((bench.local_updates, bench.skipped, bench.updates), (5, 5, 10))

    def test_only_root_is_let_in(self):
        with unittest.mock.patch.object(two_hosts.os, "geteuid", lambda: 1000):
            with self.assertRaisesRegex(two_hosts.Failure, "only root"):
                two_hosts.require_tools("heed")

    def test_a_tool_that_is_missing_is_named_with_its_package(self):
        with unittest.mock.patch.object(two_hosts.os, "geteuid", lambda: 0):
            with unittest.mock.patch.object(two_hosts.shutil, "which", lambda tool: None if tool == "tc" else tool):
                with self.assertRaisesRegex(two_hosts.Failure, r"tc is not installed \(package iproute2\)"):
                    two_hosts.require_tools("heed")


class Figures(unittest.TestCase):
    def test_an_update_takes_its_share_of_the_time_between_two_outer_steps(self):
        lines = [{"update": update, "seconds": seconds} for update, seconds in ((2, 1.0), (4, 4.0), (6, 9.0))]
        self.assertEqual(two_hosts.seconds_of_updates(lines), [1.5, 2.5])

    def test_the_report_compares_medians(self):
        runs = [{"rate": 1e8, "latency": 1e-5, "moved": 2e9, "predicted": seconds, "planned": 2e6, "seconds": [1.0, 2.0, 9.0], "sent": 3e6,
                 "waited": 50.0, "ratio": 2.0 / seconds} for seconds in (4.0, 1.6, 0.5)]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            two_hosts.report([1.0, 1.0, 5.0], {1e8: runs}, [1e8])
        line = said.getvalue().splitlines()[-1].split()
        self.assertEqual(line[:2], ["100", "Mbit/s"])
        self.assertEqual(line[-9:], ["2.00", "50%", "2.000", "1.000", "to", "9.000", "1.600", "+25.0%", "50%"])

    def test_words_are_all_of_the_vocabulary(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            two_hosts.write_base(folder)
            lines = (folder / "words.source").read_text().splitlines()
            self.assertEqual({len(line.split()) for line in lines}, {two_hosts.BASE_LENGTH})
            self.assertEqual(len({word for line in lines for word in line.split()}), two_hosts.BASE_WORDS)


class Links(unittest.TestCase):
    def test_both_ends_of_a_link_are_measured(self):
        ends = [subprocess.Popen([sys.executable, SCRIPT, "--probe", own, other], stdout=subprocess.PIPE, text=True)
                for own, other in (("127.0.0.1", "127.0.0.2"), ("127.0.0.2", "127.0.0.1"))]
        for end in ends:
            rate, latency, moved = map(float, end.communicate(timeout=60)[0].split())
            self.assertGreater(rate, 1e6)
            self.assertLess(latency, 0.1)
            self.assertGreater(moved, 1e6)

    def test_a_link_is_as_slow_as_it_is_shaped_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            try:
                two_hosts.require_tools("/bin/sh")
                with two_hosts.Hosts(pathlib.Path(folder)) as hosts:
                    hosts.shape(50e6)
                    rate, _, _ = hosts.measure()
                    sent = hosts.sent_bytes()
            except two_hosts.Failure as failure:
                self.skipTest(str(failure))
        self.assertLess(rate, 1.1 * 50e6 / 8)
        self.assertGreater(min(sent), 1e6)
        names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
        self.assertNotIn(f"heed-{os.getpid()}-", names)


if __name__ == "__main__":
    unittest.main()
