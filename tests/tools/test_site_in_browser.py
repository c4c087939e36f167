"""The site that tools/make_site.py writes, in Chromium."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2])).resolve()
sys.path.insert(0, str(ROOT / "tests" / "serve" / "page"))

import page_browser  # noqa: E402


def main():
    environment = page_browser.browser()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / "tools" / "make_site.py", folder], check=True)
        return page_browser.run(ROOT / "tests" / "tools" / "support" / "site_test.mjs", {**environment, "HEED_SITE": folder})


if __name__ == "__main__":
    sys.exit(main())
