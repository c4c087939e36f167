#!/usr/bin/env python3
"""test_install.py BUILD GENERATOR COMPILER: installs a build, then builds and runs README.md's example against it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["HEED_SOURCE_DIR"])
BUILD, GENERATOR, COMPILER = sys.argv[1:]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, **options)


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.prefix = cls.path / "prefix"
        cls.check("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.build_example()
        cls.model = cls.path / "model"
        # Room for what random weights write, which the example in C reads again.
        cls.check(os.environ["HEED_MAKE_MODEL"], cls.model, "max_length=512")

    @classmethod
    def check(cls, *command):
        done = run(*command)
        assert done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"
        return done

    @classmethod
    def build_example(cls):
        examples = re.findall(r"```cpp\n(.*?)```", (SOURCE / "README.md").read_text(), re.DOTALL)
        assert len(examples) == 1, f"README.md has {len(examples)} examples in C++, expected one"
        project = cls.path / "project"
        project.mkdir()
        shutil.copy(SOURCE / "tests" / "install" / "CMakeLists.txt", project)
        (project / "example.cpp").write_text(examples[0])
        cls.check("cmake", "-S", project, "-B", cls.path / "built", "-G", GENERATOR, f"-DCMAKE_CXX_COMPILER={COMPILER}",
                  f"-DCMAKE_PREFIX_PATH={cls.prefix}", "-DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON")
        cls.check("cmake", "--build", cls.path / "built")
        cls.example = cls.path / "built" / "example"

    def test_the_example_translates_as_the_program_does(self):
        lines = "ein Hund läuft\nzwei Kinder spielen\n"
        expected = run(self.prefix / "bin" / "heed", "translate", "--model", self.model, "--beam", "4", input=lines)
        found = run(self.example, self.model, input=lines)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertEqual(found.stdout, expected.stdout)
        self.assertEqual(found.stdout.count("\n"), 2)

    def test_manual_pages_and_completion_are_installed(self):
        shared = self.prefix / "share"
        pages = [page.name.removesuffix(".gz") for page in (shared / "man" / "man1").iterdir()]
        self.assertIn("heed-tokenizer-train.1", pages)
        for script in ("bash-completion/completions/heed", "zsh/vendor-completions/_heed", "fish/vendor_completions.d/heed.fish"):
            self.assertIn("translate", (shared / script).read_text())

    def test_a_project_in_c_finds_the_library_by_cmake(self):
        project = self.path / "project-c"
        shutil.copytree(SOURCE / "examples" / "c", project)
        shutil.copy(SOURCE / "tests" / "install" / "c" / "CMakeLists.txt", project)
        self.check("cmake", "-S", project, "-B", self.path / "built-c", "-G", GENERATOR, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.check("cmake", "--build", self.path / "built-c")
        found = run(self.path / "built-c" / "translate", self.model, input="ein Hund\n")
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    def test_a_project_in_c_finds_the_library_by_pkg_config_also_after_a_move(self):
        moved = self.path / "moved"
        shutil.copytree(self.prefix, moved, symlinks=True)
        configuration = next(moved.rglob("heed.pc"))
        flags = run("pkg-config", "--cflags", "--libs", "heed", env={**os.environ, "PKG_CONFIG_PATH": str(configuration.parent)})
        self.assertIn(str(moved), flags.stdout)
        program = self.path / "by-pkg-config"
        self.check("cc", SOURCE / "examples" / "c" / "translate.c", "-o", program, *flags.stdout.split())
        library = next(moved.rglob("libheed.so")).parent
        found = run(program, self.model, input="ein Hund\n", env={**os.environ, "LD_LIBRARY_PATH": str(library)})
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    def test_errors_of_the_example_are_one_line(self):
        found = run(self.example, self.path / "nothing")
        self.assertEqual((found.returncode, found.stdout), (1, ""))
        self.assertEqual(found.stderr.count("\n"), 1)
        self.assertIn(str(self.path / "nothing"), found.stderr)

    def test_the_example_needs_no_library_of_the_benchmark(self):
        needed = self.check("readelf", "--dynamic", self.example).stdout
        self.assertIn("NEEDED", needed)
        for library in ("libdnnl", "libgomp", "libomp"):
            self.assertNotIn(library, needed)
        for file in self.prefix.rglob("*.cmake"):
            for package in ("dnnl", "onednn", "OpenMP"):
                self.assertNotIn(package, file.read_text(), file)

    def test_the_mpi_part_is_found_from_the_program(self):
        plugin = pathlib.Path("lib", "heed", "libheed_mpi.so")
        self.assertEqual((self.prefix / plugin).exists(), (pathlib.Path(BUILD) / plugin.name).exists())
        for file in self.prefix.rglob("*.cmake"):
            self.assertNotIn("heed_mpi", file.read_text(), file)

    def test_the_package_names_nothing_of_the_tree_that_it_was_built_in(self):
        files = list(self.prefix.rglob("*.cmake"))
        self.assertIn("heedConfig.cmake", [file.name for file in files])
        for file in files:
            for place in (str(SOURCE), BUILD):
                self.assertNotIn(place, file.read_text(), file)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
