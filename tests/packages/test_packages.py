#!/usr/bin/env python3
"""test_packages.py BUILD CC: the Debian packages of a build: their content, lintian, and their life in a Debian root.

lintian and debootstrap are tried where they are (Debian packages of these names); the root needs root's rights and, the
first time, a mirror."""

import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import debian_root

SOURCE = pathlib.Path(os.environ["HEED_SOURCE_DIR"])
BUILD, CC = pathlib.Path(sys.argv[1]), sys.argv[2]
INSTALLED = ["heed", "libheed0", "libheed-dev", "heed-doc", "heed-server"]  # and python3-heed, where it is built
LINES = "ein Hund läuft\nzwei Kinder spielen\n"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)


@functools.cache
def packages():
    """The build's packages, by name."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    done = run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", folder.name)
    assert done.returncode == 0, done.stdout + done.stderr
    return {file.name.split("_")[0]: file for file in pathlib.Path(folder.name).glob("*.deb")}


class PackagesCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.packages = packages()

    def checked(self, done):
        self.assertEqual(done.returncode, 0, f"{done.args}:\n{done.stdout}{done.stderr}")
        return done

    def field(self, name, field):
        return self.checked(run("dpkg-deb", "--field", self.packages[name], field)).stdout.strip()


class ContentTest(PackagesCase):
    def files(self, name):
        listing = self.checked(run("dpkg-deb", "--contents", self.packages[name])).stdout
        return {line.split(" ./", 1)[1].split(" -> ")[0] for line in listing.splitlines() if not line.endswith("/")}

    def test_each_package_holds_its_component(self):
        self.assertLessEqual({"heed", "libheed0", "libheed-dev", "heed-doc", "heed-server"}, set(self.packages))
        expected = {"heed": ("usr/bin/heed", "usr/share/man/man1/heed-translate.1.gz"),
                    "libheed0": (r"usr/lib/.*libheed.so.0",), "libheed-dev": ("usr/include/heed.h", r"usr/lib/.*libheed.so"),
                    "heed-doc": ("usr/share/doc/heed/html/index.html", "usr/share/doc/heed/html/reference/commands.html"),
                    "heed-server": ("etc/heed/serve.toml", "usr/lib/systemd/system/heed.service")}
        for name, patterns in expected.items():
            files = self.files(name)
            for pattern in (*patterns, f"usr/share/doc/{name}/copyright", f"usr/share/doc/{name}/changelog.Debian.gz"):
                self.assertTrue(any(re.fullmatch(pattern, file) for file in files), f"{name}: {pattern}")
        owners = [file for name in self.packages for file in self.files(name)]
        self.assertEqual(len(owners), len(set(owners)), "a file is in two packages")

    def test_dependencies_come_from_what_is_linked(self):
        self.assertIn("libsentencepiece0", self.field("heed", "Depends"))
        self.assertNotIn("libheed0", self.field("heed", "Depends"))
        self.assertNotIn("openmpi", self.field("heed", "Depends"))
        for library in ("libdnnl", "libssl", "libgomp"):
            self.assertNotIn(library, self.field("libheed0", "Depends"))
        version = self.field("heed", "Version")
        self.assertIn(f"libheed0 (= {version})", self.field("libheed-dev", "Depends"))
        self.assertIn(f"heed (= {version})", self.field("heed-server", "Depends"))

    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian (a Debian package)")
        found = run("lintian", "--allow-root", "--fail-on", "error", *self.packages.values())
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_an_archive_of_the_tree_runs_where_it_is_unpacked(self):
        self.checked(run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "TGZ", "-B", self.path / "archives"))
        archive = next((self.path / "archives").glob("heed-*-debian12-*.tar.gz"))
        shutil.unpack_archive(archive, self.path / "some where")
        tree = next((self.path / "some where").iterdir())
        self.assertIn("heed ", self.checked(run(tree / "bin" / "heed", "--version")).stdout)
        self.assertTrue((tree / "share" / "doc" / "heed" / "copyright").is_file())
        self.assertFalse((tree / "etc").exists())


class BundleTest(unittest.TestCase):
    """The archive that brings all libraries."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        tree, archive = cls.path / "heed-bundle", cls.path / "heed-bundle.tar.gz"
        for command in (["cmake", "--install", BUILD, "--prefix", tree, "--component", "runtime"],
                        [sys.executable, SOURCE / "tools" / "bundle.py", BUILD / "heed", tree, archive]):
            done = run(*command)
            assert done.returncode == 0, done.stdout + done.stderr
        shutil.unpack_archive(archive, cls.path / "some where")
        cls.tree = cls.path / "some where" / "heed-bundle"
        cls.model = cls.path / "model"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.model], check=True)
        done = run(os.environ["HEED_BINARY"], "translate", "--model", cls.model, input=LINES)
        cls.expected = done.stdout

    def test_it_runs_with_its_own_libraries_through_a_link_too(self):
        link = self.path / "heed"
        link.symlink_to(self.tree / "bin" / "heed")
        for program in (self.tree / "bin" / "heed", link):
            found = run(program, "translate", "--model", self.model, input=LINES, env=debian_root.ENVIRONMENT)
            self.assertEqual((found.returncode, found.stdout, found.stderr), (0, self.expected, ""))
        libraries = self.tree / "lib" / "heed"
        listed = run(libraries / "ld-linux-x86-64.so.2", "--library-path", libraries, "--list", libraries / "heed").stdout
        outside = [line for line in listed.splitlines() if "=>" in line and str(libraries) not in line]
        self.assertEqual([line for line in outside if "ld-linux" not in line], [], listed)

    def test_it_brings_the_copyrights_of_its_libraries(self):
        if not shutil.which("dpkg"):
            self.skipTest("no dpkg")
        notices = {file.name for file in (self.tree / "share" / "doc" / "heed" / "libraries").iterdir()}
        self.assertLessEqual({"libc6", "libsentencepiece0", "libicu72", "libstdc++6"}, notices)

    @unittest.skipIf(debian_root.missing(), debian_root.missing())
    def test_it_gives_the_same_texts_on_an_older_debian(self):
        try:
            debian = debian_root.DebianRoot(self.path, BUILD, suite="bullseye")
        except OSError as error:
            self.skipTest(str(error).replace("\n", " "))
        shutil.copytree(self.tree, debian.root / "heed", symlinks=True)
        shutil.copytree(self.model, debian.root / "model")
        found = debian.run("/heed/bin/heed", "translate", "--model", "/model", input=LINES)
        self.assertEqual((found.returncode, found.stdout, found.stderr), (0, self.expected, ""))


@unittest.skipIf(debian_root.missing(), debian_root.missing())
@unittest.skipUnless((BUILD / "python" / "heed").is_dir(), "the Python module is not built")
class WheelTest(unittest.TestCase):
    """The wheel where there are Python and numpy, and none of the libraries that heed is built with."""

    def test_it_gives_the_same_texts_in_a_bare_root(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            version = re.search(r"(?m)^CMAKE_PROJECT_VERSION:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text())[1]
            (path / "wheel").mkdir()
            done = run(sys.executable, SOURCE / "bindings/python/make_wheel.py", BUILD / "python/heed", version, path / "wheel")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            try:
                debian = debian_root.DebianRoot(path, BUILD, ["python3", "python3-numpy"])
            except OSError as error:  # no mirror
                self.skipTest(str(error).replace("\n", " "))
            shutil.unpack_archive(next((path / "wheel").glob("*.whl")), debian.root / "site", "zip")
            model = debian.root / "model"
            subprocess.run([os.environ["HEED_MAKE_MODEL"], model], check=True)
            self.assertEqual(list(debian.root.rglob("usr/lib/**/libsentencepiece*")), [])
            code = ("import sys; sys.path.insert(0, '/site'); import heed\n"
                    "print(*(found.text for found in heed.Translator('/model').translate(sys.argv[1:])), sep='\\n')")
            found = debian.run("python3", "-B", "-c", code, *LINES.splitlines())
            expected = run(os.environ["HEED_BINARY"], "translate", "--model", model, input=LINES).stdout
            self.assertEqual((found.returncode, found.stdout, found.stderr), (0, expected, ""))


@unittest.skipIf(debian_root.missing(), debian_root.missing())
class LifeTest(PackagesCase):
    """Install, use, upgrade and purge."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.debian = debian_root.DebianRoot(cls.path, BUILD, cls.dependencies())
        except OSError as error:  # no mirror
            raise unittest.SkipTest(str(error).replace("\n", " "))

    @classmethod
    def installed(cls):
        return INSTALLED + (["python3-heed"] if "python3-heed" in cls.packages else [])

    @classmethod
    def dependencies(cls):
        """The packages of Debian's that heed's name. With no others, dpkg shows that none is missing among these."""
        names = set()
        for name in cls.installed():
            depends = run("dpkg-deb", "--field", cls.packages[name], "Depends").stdout
            names |= {re.split(r"[ (]", one.strip())[0] for one in depends.split(",") if one.strip()}
        return names - set(cls.packages)

    def newer(self, name):
        """The same package with a higher version."""
        folder, version = self.path / "newer" / name, self.field(name, "Version")
        folder.parent.mkdir(exist_ok=True)
        self.checked(run("dpkg-deb", "--raw-extract", self.packages[name], folder))
        control = folder / "DEBIAN" / "control"
        control.write_text(control.read_text().replace(version, "9.0.0-1"))
        package = self.path / "newer" / f"{name}_9.0.0-1.deb"
        self.checked(run("dpkg-deb", "--build", folder, package))
        return package

    def serves(self):
        """Starts the server as its unit does, and asks it for its models."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        unit = (self.debian.root / "usr/lib/systemd/system/heed.service").read_text()
        command = re.search(r"(?m)^ExecStart=(.*)$", unit).group(1).split()
        user = re.search(r"(?m)^User=(.*)$", unit).group(1)
        server = subprocess.Popen(self.debian.command("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command,
                                                      "--listen", f"127.0.0.1:{port}"), stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(100):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as answer:
                        return answer.read().decode()
                except OSError:
                    self.assertIsNone(server.poll(), "the server ended")
                    time.sleep(0.1)
            self.fail("the server does not answer")
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)

    def test_packages_live_and_leave_nothing(self):
        debian = self.debian
        names = self.installed()
        self.checked(debian.install(*(self.packages[name] for name in names)))

        model = debian.root / "var/lib/heed/de-en"
        # Room for what random weights write, which the example reads again.
        self.checked(run(os.environ["HEED_MAKE_MODEL"], model, "max_length=512"))
        expected = self.checked(run(os.environ["HEED_BINARY"], "translate", "--model", model, input=LINES)).stdout
        found = self.checked(debian.run("heed", "translate", "--model", "/var/lib/heed/de-en", input=LINES))
        self.assertEqual(found.stdout, expected)
        program = debian.root / "translate"
        library = next((debian.root / "usr/lib").rglob("libheed.so")).parent
        self.checked(run(CC, f"-I{debian.root}/usr/include", SOURCE / "examples/c/translate.c", "-o", program, f"-L{library}",
                         "-lheed"))
        self.checked(debian.run("/translate", "/var/lib/heed/de-en", input=LINES))

        if "python3-heed" in names:
            code = "import heed; print(heed.Translator('/var/lib/heed/de-en').translate(['ein Hund läuft'])[0].text)"
            self.assertEqual(self.checked(debian.run("python3", "-B", "-c", code)).stdout, expected.split("\n")[0] + "\n")

        settings = debian.root / "etc/heed/serve.toml"
        settings.write_text(settings.read_text() + '[model.de-en]\npath = "/var/lib/heed/de-en"\n')
        self.assertIn("de-en", self.serves())

        self.checked(debian.install(*(self.newer(name) for name in names)))
        self.assertIn('path = "/var/lib/heed/de-en"', settings.read_text())
        self.assertIn("de-en", self.serves())
        self.assertEqual(len(re.findall(r"(?m)^heed:", (debian.root / "etc/passwd").read_text())), 1)

        listed = self.checked(debian.run("dpkg", "--listfiles", *names)).stdout.split("\n")
        self.checked(debian.run("dpkg", "--purge", *names))
        left = [name for name in listed if "heed" in name and (debian.root / name.lstrip("/")).exists()]
        self.assertEqual(left, [])
        self.assertFalse(settings.parent.exists())
        self.assertTrue(model.is_dir(), "models stay")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
