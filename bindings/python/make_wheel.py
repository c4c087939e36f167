#!/usr/bin/env python3
"""Makes a wheel of the built package: make_wheel.py PACKAGE VERSION OUTPUT.

Libraries that are not part of every Linux system lie beside the native module, which looks for them there; those of the
C library, of C++ and of zlib are taken from the system that it is installed on. ICU's are made anew: of 31 MB of tables
heed reads 4. They get names of their own, so that a program never finds them where it looks for the system's."""

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


# What of ICU's data heed reads: breaks between words, sentences and lines, compatibility forms, names of languages.
KEPT_DATA = re.compile(r"brkitr/.*|nfkc\.nrm|(metadata|supplementalData|root|res_index|pool|icuver|likelySubtags|"
                       r"keyTypeData)\.res")
DATA_LIBRARY = """.section .note.GNU-stack,"",%progbits
.section .rodata
.balign 16
.globl {symbol}
.type {symbol}, %object
{symbol}:
.incbin "{data}"
.size {symbol}, .-{symbol}
"""


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def data_of(library, symbol):
    """The bytes of a symbol in a library's read-only section."""
    value, size = re.search(rf" ([0-9a-f]{{16}}) +(0x[0-9a-f]+|\d+) OBJECT .* {symbol}\n",
                            run("readelf", "--dyn-syms", "--wide", library)).groups()
    address = int(value, 16)
    for section in re.findall(r"\] \.\S+ +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) ",
                              run("readelf", "--sections", "--wide", library)):
        begin, offset, length = (int(number, 16) for number in section)
        if begin <= address < begin + length:
            at = offset + address - begin
            return library.read_bytes()[at:at + int(size, 0)]
    raise RuntimeError(f"{library}: no section has {symbol}")


def shrink_icu(library):
    """Leaves in ICU's library of data what heed reads."""
    icupkg = shutil.which("icupkg", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if icupkg is None:
        print("icupkg of icu-devtools is missing: the wheel carries all of ICU's data", file=sys.stderr)
        return
    version = re.search(r"\.so\.(\d+)", library.name).group(1)
    symbol, package = f"icudt{version}_dat", f"icudt{version}{sys.byteorder[0]}.dat"
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        (folder / "few").mkdir()
        (folder / package).write_bytes(data_of(library, symbol))
        names = run(icupkg, "-l", folder / package).split()
        (folder / "others.txt").write_text("\n".join(name for name in names if not KEPT_DATA.fullmatch(name)))
        # The items are named after the file: it keeps its name.
        run(icupkg, "-r", folder / "others.txt", folder / package, folder / "few" / package)
        (folder / "data.s").write_text(DATA_LIBRARY.format(symbol=symbol, data=folder / "few" / package))
        run(os.environ.get("CC", "cc"), "-shared", "-nostdlib", f"-Wl,-soname,{library.name}", "-o", library,
            folder / "data.s")


def libraries_of(module):
    """Those that it needs, directly or not: name and path."""
    shown = subprocess.run(["ldd", module], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = dict(re.findall(r"(\S+) => (\S+) \(", shown))
    return {name: path for name, path in found.items() if not name.startswith(ANYWHERE)}


def bundle(package, folder):
    shutil.copytree(package, folder / "heed", ignore=shutil.ignore_patterns("__pycache__"))
    module = next((folder / "heed").glob("_heed*.so"))
    own_names = {}
    for name, path in libraries_of(module).items():
        own_names[name] = name.replace("libicu", "libheed-icu", 1)
        library = folder / "heed" / own_names[name]
        shutil.copy(path, library)
        if name.startswith("libicudata."):
            shrink_icu(library)
    for library in (folder / "heed").glob("*.so*"):
        run("strip", "--strip-unneeded", library)  # before patchelf: what that has moved strip would tear apart
        for name, own_name in own_names.items():  # one at a time: patchelf 0.14 mixes several changes up
            if name != own_name:
                run("patchelf", "--replace-needed", name, own_name, library)
        run("patchelf", "--set-rpath", "$ORIGIN", library)
        if library.name in own_names.values():
            run("patchelf", "--set-soname", library.name, library)


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
