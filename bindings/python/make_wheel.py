#!/usr/bin/env python3
"""Makes a wheel of the built package: make_wheel.py PACKAGE VERSION OUTPUT.

Libraries that are not part of every Linux system lie beside the native module, which looks for them there; those of the
C library, of C++ and of zlib are taken from the system that it is installed on."""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ANYWHERE = ("libc.", "libm.", "libpthread.", "libdl.", "librt.", "ld-linux", "libgcc_s.", "libstdc++.", "libz.",
            "linux-vdso")


def libraries_of(module):
    """Those that it needs, directly or not: name and path."""
    shown = subprocess.run(["ldd", module], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = dict(re.findall(r"(\S+) => (\S+) \(", shown))
    return {name: path for name, path in found.items() if not name.startswith(ANYWHERE)}


def bundle(package, folder):
    shutil.copytree(package, folder / "heed", ignore=shutil.ignore_patterns("__pycache__"))
    module = next((folder / "heed").glob("_heed*.so"))
    for name, path in libraries_of(module).items():
        shutil.copy(path, folder / "heed" / name)
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", folder / "heed" / name], check=True)
    subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", module], check=True)
    for library in (folder / "heed").glob("*.so*"):
        subprocess.run(["strip", "--strip-unneeded", library], check=True)


def main():
    package, version, output = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-linux_{os.uname().machine}"
    wheel = output / f"heed-{version}-{tag}.whl"
    info = f"heed-{version}.dist-info"
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        bundle(package, folder)
        (folder / info).mkdir()
        (folder / info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: heed\nVersion: {version}\n"
            "Summary: Transformers that translate, write and read, trained and run on your own machine\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\n")
        (folder / info / "WHEEL").write_text(
            f"Wheel-Version: 1.0\nGenerator: heed\nRoot-Is-Purelib: false\nTag: {tag}\n")
        record = []
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                name, content = path.relative_to(folder).as_posix(), path.read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                record.append(f"{name},sha256={digest},{len(content)}")
                archive.writestr(zipfile.ZipInfo.from_file(path, name), content, zipfile.ZIP_DEFLATED)
            archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
