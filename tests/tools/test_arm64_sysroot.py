"""tools/arm64_sysroot takes what apt fetches, and says what it lacks. What a real one holds, the build for ARM shows."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
TOOL = ROOT / "tools" / "arm64_sysroot"
NEEDED = ("usr/lib/ld-linux-aarch64.so.1", "usr/include/hwy/highway.h", "usr/include/sentencepiece_processor.h")
# An apt-get that "fetches" the packages that were put into $FETCHED.
APT = """#!/bin/bash
for option; do
  [[ $option == Dir::Cache::archives=* ]] && archives=${option#*=}
done
[[ " $* " == *" install "* ]] && cp "$FETCHED"/*.deb "$archives"/
echo "$*" >>"$FETCHED/calls"
"""


class Sysroot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.fetched = self.path / "fetched"
        self.fetched.mkdir()
        apt = self.path / "bin" / "apt-get"
        apt.parent.mkdir()
        apt.write_text(APT)
        apt.chmod(0o755)

    def make(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.path / 'bin'}:{os.environ['PATH']}", "FETCHED": str(self.fetched)}
        return subprocess.run([TOOL, *map(str, arguments)], env=environment, capture_output=True, text=True)

    def package(self, name, files, links=()):
        tree = self.path / name
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN" / "control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: arm64\nMaintainer: nobody\nDescription: {name}\n")
        for file in files:
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            (tree / file).write_text(name)
        for link, target in links:
            (tree / link).parent.mkdir(parents=True, exist_ok=True)
            (tree / link).symlink_to(target)
        subprocess.run(["dpkg-deb", "--build", tree, self.fetched / f"{name}.deb"], check=True, capture_output=True)

    def test_usage(self):
        for arguments in ((), (self.path, "all")):
            result = self.make(*arguments)
            self.assertEqual((result.returncode, result.stderr), (2, "usage: tools/arm64_sysroot FOLDER [kernels]\n"))

    def test_kernels_need_less_and_are_served_by_all(self):
        self.package("one", NEEDED)
        calls = self.fetched / "calls"
        last = lambda: calls.read_text().splitlines()[-1]
        sysroot = self.path / "sysroot"
        self.assertEqual(self.make(sysroot, "kernels").returncode, 0)
        self.assertNotIn("libopenmpi-dev", last())
        self.assertEqual(self.make(sysroot).returncode, 0)
        self.assertIn("libopenmpi-dev", last())
        before = calls.read_text()
        self.assertEqual(self.make(sysroot, "kernels").returncode, 0)
        self.assertEqual(calls.read_text(), before)

    def test_files_of_all_packages_lie_in_one_tree(self):
        self.package("one", (*NEEDED, "usr/share/doc/one/copyright"), links=[("usr/lib/absolute", "/usr/include/hwy")])
        self.package("two", ("lib/two.so",))
        sysroot = self.path / "sysroot"
        result = self.make(sysroot)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((sysroot / "usr/lib/two.so").read_text(), "two", "/lib is a link, which a package's /lib does not replace")
        self.assertFalse((sysroot / "usr/share/doc").exists())
        self.assertEqual(os.readlink(sysroot / "usr/lib/absolute"), "../include/hwy")
        calls = (self.fetched / "calls").read_text()
        self.assertIn("APT::Architecture=arm64", calls)
        self.assertIn("--download-only", calls)

        self.assertEqual(self.make(sysroot).returncode, 0)
        self.assertEqual((self.fetched / "calls").read_text(), calls, "a complete one is left as it is")

    def test_it_says_what_is_missing(self):
        self.package("one", NEEDED[:2])
        sysroot = self.path / "sysroot"
        result = self.make(sysroot)
        self.assertEqual(result.returncode, 1)
        self.assertIn("the packages did not bring usr/include/sentencepiece_processor.h", result.stderr)
        self.assertFalse((sysroot / "complete").exists())


if __name__ == "__main__":
    unittest.main()
