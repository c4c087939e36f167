"""The notebooks: each runs from its first cell to its last, draws its pictures, and has no results stored."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from heed_cli import SOURCE

NOTEBOOKS = sorted((SOURCE / "docs/notebooks").glob("*.ipynb"))


class Notebooks(unittest.TestCase):
    def test_they_run_from_beginning_to_end(self):
        self.assertTrue(NOTEBOOKS)
        for notebook in NOTEBOOKS:
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, "HEED_NOTEBOOK_UPDATES": "60", "MPLCONFIGDIR": folder, "HOME": folder,
                               "JUPYTER_PLATFORM_DIRS": "1", "OMP_NUM_THREADS": "1"}
                result = subprocess.run(
                    ["jupyter-nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=300",
                     "--ExecutePreprocessor.kernel_name=python3", "--output-dir", folder, notebook],
                    env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                self.assertEqual(result.returncode, 0, result.stdout[-3000:])
                cells = json.loads((pathlib.Path(folder) / notebook.name).read_text())["cells"]
                kinds = [kind for cell in cells if cell["cell_type"] == "code"
                         for output in cell["outputs"] for kind in output.get("data", {})]
                draws = sum("plt.show()" in "".join(cell["source"]) for cell in cells)
                self.assertEqual(kinds.count("image/png"), draws)

    def test_they_have_no_results_stored(self):
        for notebook in NOTEBOOKS:
            for cell in json.loads(notebook.read_text())["cells"]:
                self.assertEqual((cell.get("outputs", []), cell.get("execution_count")), ([], None), notebook.name)


if __name__ == "__main__":
    missing = [name for name in ("matplotlib", "ipykernel", "numpy") if importlib.util.find_spec(name) is None]
    if missing or shutil.which("jupyter-nbconvert") is None:
        print(f"skipped: {', '.join(missing) or 'jupyter-nbconvert'} is missing")
        sys.exit(77)
    unittest.main()
