"""A Debian root of its own, in which packages are installed, used and removed."""

import hashlib
import os
import pathlib
import shutil
import subprocess

# What programs find in their environment. Texts depend on the instruction set.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
               **{name: value for name, value in os.environ.items() if name == "HEED_CPU"}}
MIRROR = os.environ.get("HEED_DEBIAN_MIRROR", "http://deb.debian.org/debian")


def missing():
    """Why there can be no such root here, or None."""
    if os.geteuid() != 0:
        return "only root can make a Debian root"
    if not shutil.which("debootstrap", path=os.environ["PATH"] + ":/usr/sbin"):
        return "no debootstrap (a Debian package)"
    return None


class DebianRoot:
    """Unpacked into `path`, from an archive in the folder `kept`, which is made at the first time. It holds the essential
    packages and those given, and then needs no network."""

    def __init__(self, path, kept, packages=(), suite="bookworm"):
        self.path = pathlib.Path(path)
        packages = ",".join(sorted(packages))
        kept = kept / f"debian-{suite}-{hashlib.sha256(packages.encode()).hexdigest()[:8]}.tar"
        if not kept.is_file():
            made = self.path / "made"
            command = ["debootstrap", "--variant=minbase", *([f"--include={packages}"] if packages else []), suite, made, MIRROR]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=550,
                                  env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
            if done.returncode != 0:
                raise OSError(f"debootstrap: {done.stdout[-300:]}{done.stderr[-300:]}")
            part = kept.with_suffix(".part")
            subprocess.run(["tar", "--create", "--one-file-system", f"--file={part}", f"--directory={made}", "."], check=True)
            part.rename(kept)
            shutil.rmtree(made)
        self.root = self.path / "root"
        self.root.mkdir()
        subprocess.run(["tar", "--extract", f"--file={kept}", f"--directory={self.root}"], check=True)
        policy = self.root / "usr" / "sbin" / "policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def command(self, *words):
        return ["chroot", str(self.root), *map(str, words)]

    def run(self, *words, **options):
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=200,
                              env={**ENVIRONMENT, "DEBIAN_FRONTEND": "noninteractive"}, **options)

    def install(self, *packages):
        """Installs .deb files with dpkg."""
        folder = self.root / "packages"
        folder.mkdir(exist_ok=True)
        for package in packages:
            shutil.copy(package, folder)
        return self.run("dpkg", "--force-confdef", "--force-confold", "--install",
                        *(f"/packages/{pathlib.Path(package).name}" for package in packages))
