#!/usr/bin/env python3
"""test_library.py LIBHEED CC CXX [EMULATOR...]: what libheed.so exports, heed.h as C and C++, and the examples in other
languages. With EMULATOR, which runs what the compilers make for another processor, those in C alone.

Go, Rust and Node are tried where they are (Debian: golang-go, rustc, nodejs with libnode-dev)."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from heed_cli import PATIENCE, SOURCE

LIBRARY = pathlib.Path(sys.argv[1]).resolve()
C_COMPILER, CXX_COMPILER = map(shlex.split, sys.argv[2:4])
EMULATOR = sys.argv[4:]
BINDING = SOURCE / "bindings" / "c"
EXAMPLES = SOURCE / "examples"
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Wstrict-prototypes", "-Wconversion", "-Werror"]
LINES = "ein Hund läuft\nzwei Kinder spielen\n"
natively = unittest.skipIf(EMULATOR, "needs a compiler or an interpreter that runs on the library's processor")


def run(*command, **options):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent), **options.pop("environment", {})}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=250 * PATIENCE, env=environment, **options)


class LibraryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.translator, cls.writer = cls.path / "translator", cls.path / "writer"
        # Room for what random weights write, which the example in C reads again.
        for arguments in ([cls.translator], [cls.writer, "architecture=causal-lm"]):
            subprocess.run([os.environ["HEED_MAKE_MODEL"], *map(str, arguments), "max_length=512"], check=True)

    def checked(self, *command, **options):
        done = run(*command, **options)
        self.assertEqual(done.returncode, 0, f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
        return done

    def example(self, name):
        """Builds examples/c/NAME.c as C99, and gives the words that start it."""
        program = self.path / name
        self.checked(*C_COMPILER, "-std=c99", *STRICT, f"-I{BINDING}", EXAMPLES / "c" / f"{name}.c", "-o", program,
                     f"-L{LIBRARY.parent}", "-lheed")
        return [*EMULATOR, program]

    def expected_translations(self, *options):
        return self.checked(os.environ["HEED_BINARY"], "translate", "--model", self.translator, *options, input=LINES).stdout

    def test_it_exports_what_the_kept_list_says_and_nothing_else(self):
        lines = self.checked("nm", "--dynamic", "--defined-only", "--with-symbol-versions", LIBRARY).stdout.splitlines()
        found = sorted(line.split()[2].replace("@@", "@") for line in lines if line.split()[1] != "A")
        self.assertEqual(found, (BINDING / "symbols.txt").read_text().split())

    def test_the_header_declares_what_it_exports(self):
        header = re.sub(r"/\*.*?\*/", "", (BINDING / "heed.h").read_text(), flags=re.DOTALL)
        declared = sorted(name + "@HEED_0" for name in re.findall(r"\b(heed_\w+)\s*\(", header))
        self.assertEqual(declared, (BINDING / "symbols.txt").read_text().split())

    def test_numbers_of_the_header_stay(self):
        header = (BINDING / "heed.h").read_text()
        numbers = re.findall(r"^\s+(HEED_\w+) = (\d+)", header, re.MULTILINE)
        options = [number for name, number in numbers if "ERROR" not in name and name != "HEED_OK"]
        self.assertEqual(len(set(options)), len(options))
        kept = "".join(f"{name} {number}\n" for name, number in numbers)
        self.assertEqual(kept, (BINDING / "numbers.txt").read_text())

    def test_its_soname_has_a_version(self):
        self.assertIn("soname: [libheed.so.0]", self.checked("readelf", "--dynamic", LIBRARY).stdout)

    def test_the_header_is_c_and_cpp(self):
        for name, compiler, standard in (("c99.c", C_COMPILER, "c99"), ("c11.c", C_COMPILER, "c11"),
                                         ("cpp.cpp", CXX_COMPILER, "c++98"), ("cpp20.cpp", CXX_COMPILER, "c++20")):
            source = self.path / name
            source.write_text('#include <heed.h>\n#include <heed.h>\nint main(void) { return heed_error_code(NULL); }\n')
            strict = [flag for flag in STRICT if compiler == C_COMPILER or flag != "-Wstrict-prototypes"]
            extra = ["-Wno-long-long"] if standard == "c++98" else []
            self.checked(*compiler, f"-std={standard}", *strict, *extra, f"-I{BINDING}", "-fsyntax-only", source)

    def test_an_ignored_error_is_a_warning(self):
        source = self.path / "ignored.c"
        source.write_text("#include <heed.h>\nint main(void) { heed_options_create(NULL); return 0; }\n")
        found = run(*C_COMPILER, "-std=c99", *STRICT, f"-I{BINDING}", "-c", source, "-o", self.path / "ignored.o")
        self.assertIn("unused-result", found.stderr)

    def test_the_example_in_c_translates_as_the_program_does(self):
        program = self.example("translate")
        found = self.checked(*program, self.translator, input=LINES).stdout.split("\n")[:-1]
        self.assertEqual(found[0::3], self.expected_translations("--beam", "4").split("\n")[:-1])
        self.assertTrue(all(re.fullmatch(r"  from \S+ \([01]\.\d\d\)", line) for line in found[2::3]), found)
        failed = run(*program, self.path / "nothing")
        self.assertEqual((failed.returncode, failed.stdout), (1, ""))
        self.assertRegex(failed.stderr, r"^error 4: .*nothing.*\n$")

    def test_the_example_in_c_streams_and_stops(self):
        program = self.example("generate")
        found = self.checked(*program, self.writer, "a dog", "5").stdout
        self.assertRegex(found, r"(?s)^.*\n\((length|end)\)\n$")
        self.assertTrue(self.checked(*program, self.writer, "a dog").stdout.endswith("\n(cancelled)\n"))

    def test_the_example_in_c_encodes(self):
        found = self.checked(*self.example("encode"), self.translator, "ein Hund", "ein Hund", "zwei Kinder").stdout.splitlines()
        self.assertEqual(found[0], "1.0000  ein Hund")
        self.assertEqual(len(found), 2)

    def test_the_example_in_c_trains_stops_and_goes_on(self):
        program = self.example("train")
        recipe, model = self.path / "recipe.toml", self.path / "trained"
        (self.path / "words").write_text("".join(f"word{i % 7} word{i % 5}\n" for i in range(40)))
        recipe.write_text('[model]\narchitecture = "seq2seq"\nmodel = 8\ninner = 8\nheads = 2\nencoder_layers = 1\n'
                          'decoder_layers = 1\n[data]\ntrain_source = ["words"]\ntrain_target = ["words"]\n'
                          'validation_source = ["words"]\nvalidation_target = ["words"]\nbatch_target_tokens = 40\n'
                          '[tokenizer]\nkind = "word"\nminimum_count = 1\n[schedule]\nwarmup = 1\nlength = 4\n'
                          '[training]\nupdates = 4\nlog_every = 1\n[validation]\nevery = 2\n')
        stopped = self.checked(*program, recipe, model, "1000").stdout
        self.assertRegex(stopped, r"(?s)^message:\n.*start:\n.*train: update 2 .*validation: update 2 loss .* bleu .*"
                                  r"\nended by stopped\n$")
        ended = self.checked(*program, recipe, model, "0", "resume").stdout
        self.assertRegex(ended, r"(?s)train: update 4 .*\nended by updates\n\d+ bytes instead of \d+ in .*trained.int8\n$")
        self.assertNotIn("update 2 ", ended)
        self.assertEqual(len(self.checked(os.environ["HEED_BINARY"], "translate", "--model", f"{model}.int8",
                                          input="word1 word2\n").stdout.splitlines()), 1)
        failed = run(*program, self.path / "nothing", model)
        self.assertEqual(failed.returncode, 1)
        self.assertRegex(failed.stderr, r"^error 4: .*nothing.*\n$")

    @natively
    def test_the_example_in_rust_translates_as_the_program_does(self):
        if not shutil.which("rustc"):
            self.skipTest("no rustc (Debian: rustc)")
        program = self.path / "translate-rust"
        self.checked("rustc", "-O", "-D", "warnings", "-L", LIBRARY.parent, EXAMPLES / "rust" / "translate.rs", "-o", program)
        self.assertEqual(self.checked(program, self.translator, input=LINES).stdout, self.expected_translations())
        self.assertIn("error 4: ", run(program, self.path / "nothing").stderr)

    @natively
    def test_the_example_in_node_translates_as_the_program_does(self):
        headers = [folder for folder in ("/usr/include/node", "/usr/include/nodejs/src")
                   if pathlib.Path(folder, "node_api.h").is_file()]
        if not shutil.which("node") or not headers:
            self.skipTest("no node, or no node_api.h (Debian: nodejs, libnode-dev)")
        addon = self.path / "heed.node"
        self.checked(*C_COMPILER, "-std=c99", *(flag for flag in STRICT if flag != "-pedantic"), "-shared", "-fPIC", f"-I{BINDING}",
                     "-isystem", headers[0], EXAMPLES / "node" / "heed.c", "-o", addon, f"-L{LIBRARY.parent}", "-lheed")
        script = EXAMPLES / "node" / "translate.mjs"
        self.assertEqual(self.checked("node", script, addon, self.translator, input=LINES).stdout, self.expected_translations())
        failed = run("node", script, addon, self.path / "nothing", input=LINES)
        self.assertEqual((failed.returncode, failed.stdout, failed.stderr.count("\n")), (1, "", 1))
        self.assertIn("nothing", failed.stderr)
        # The first line fails before the second one comes.
        failed = run("sh", "-c", '(echo "$1"; sleep 1; echo "$1") | node "$2" "$3" "$4"', "sh", "a" * 3000, script, addon,
                     self.translator)
        self.assertEqual((failed.returncode, failed.stdout, failed.stderr.count("\n")), (1, "", 1))
        self.assertIn("3001 tokens", failed.stderr)
        checks = (f"const heed = require({str(addon)!r}); for (const call of [() => heed.open(1), () => heed.translate(1, 'a')])"
                  "{ try { call(); } catch (error) { console.log(error.name); } }")
        self.assertEqual(self.checked("node", "-e", checks).stdout, "TypeError\nTypeError\n")

    @natively
    def test_the_example_in_go_translates_as_the_program_does(self):
        if not shutil.which("go"):
            self.skipTest("no go (Debian: golang-go)")
        program = self.path / "translate-go"
        self.checked("go", "build", "-o", program, EXAMPLES / "go" / "translate.go",
                     environment={"CGO_ENABLED": "1", "CGO_CFLAGS": f"-I{BINDING}", "CGO_LDFLAGS": f"-L{LIBRARY.parent}",
                                  "GOCACHE": str(self.path / "go-cache"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
        self.assertEqual(self.checked(program, self.translator, input=LINES).stdout, self.expected_translations())
        self.assertIn("nothing", run(program, self.path / "nothing").stderr)

    @natively
    def test_it_is_loaded_while_the_process_runs(self):
        code = ("import ctypes, sys; heed = ctypes.CDLL(sys.argv[1]); heed.heed_version.restype = ctypes.c_char_p; "
                "print(heed.heed_version().decode())")
        version = self.checked(sys.executable, "-c", code, LIBRARY).stdout.strip()
        self.assertTrue(self.checked(os.environ["HEED_BINARY"], "--version").stdout.startswith(f"heed {version}\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
