"""Runs scripts that use the page in Chromium, by the npm packages playwright-core and axe-core.

They are looked for in made/browser/, where install_packages, beside this file, puts them, or in $HEED_BROWSER. Without
them, without Node or without Chromium (Debian's package chromium) a test is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
HERE = pathlib.Path(__file__).parent


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def browser():
    """What the scripts need to know, as variables of the environment."""
    packages = pathlib.Path(os.environ.get("HEED_BROWSER", HERE.parent.parent.parent / "made" / "browser")).resolve()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if shutil.which("node") is None:
        skip("node is not installed (package nodejs)")
    if chromium is None:
        skip("Chromium is not installed (package chromium)")
    for package in ("playwright-core", "axe-core"):
        if not (packages / "node_modules" / package).is_dir():
            skip(f"{package} is not there; tests/serve/page/install_packages installs it")
    return {"HEED_BROWSER": str(packages), "HEED_CHROMIUM": chromium}


def run(script, environment):
    """The exit status of a script's tests."""
    return subprocess.run(["node", "--test-reporter=tap", "--test", HERE / script], env={**os.environ, **environment}).returncode
