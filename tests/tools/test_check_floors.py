"""tools/check_floors.py notices each kind of breach, and none in a tree without one."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2]))

TABLE = """
heed_folder(base LINK_PUBLIC fmt::fmt)
heed_folder(tensor DEPENDS base)
heed_folder(text DEPENDS base)  # a comment
heed_folder(words LEAF DEPENDS base)
heed_folder(kernels DEPENDS tensor)
heed_folder(kernels/reference DEPENDS kernels)
heed_folder(kernels/cpu DEPENDS kernels
            LINK hwy::hwy)
heed_folder(ops DEPENDS kernels)
heed_folder(api DEPENDS ops kernels/cpu)
heed_folder(serve DEPENDS ops)  # no code yet: nothing can be unused
heed_folder(trial LEAF DEPENDS ops)
heed_folder(cli DEPENDS api trial words)
"""

GOOD = {
    "src/base/error.h": "#include <string>\n",
    "src/tensor/shape.h": '#include "base/error.h"\n#include "fmt/format.h"\n',
    "src/tensor/view.h": '#include "shape.h"\n',
    "src/text/vocab.cpp": '#include "base/error.h"\n#include "heed/error.h"\n',
    "src/kernels/kernels.h": '#include "tensor/shape.h"\n',
    "src/kernels/reference/gemm.h": '#include "kernels/kernels.h"\n',
    "src/kernels/cpu/gemm.cpp": '#include "kernels/kernels.h"\n#include "hwy/highway.h"\n#include "base/error.h"\n',
    "src/ops/linear.cpp": '#include "kernels/kernels.h"\n',
    "src/api/model.cpp": '#include "heed/model.h"\n#include "ops/linear.h"\n#include "kernels/cpu/gemm.h"\n',
    "src/trial/trial.cpp": '#include "ops/linear.h"\n#include "heed/error.h"\n',
    "src/cli/main.cpp": '#include <heed/model.h>\n#include "cli/train.h"\n#include "trial/trial.h"\n#include "words/word.h"\n',
    "src/words/word.h": '#include "base/error.h"\n',
    "bindings/c/a.cpp": '#include "heed.h"\n#include <heed/model.h>\n#include "heed/error.h"\n',
    "include/heed/error.h": "#include <string>\n",
    "include/heed/model.h": "#include <heed/error.h>\n",
}


class CheckFloors(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {"src/CMakeLists.txt": TABLE, **GOOD, **files}.items():
                path = pathlib.Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            result = subprocess.run(
                [sys.executable, str(ROOT / "tools" / "check_floors.py"), root], capture_output=True, text=True)
            return result.returncode, result.stdout + result.stderr

    def expect_breach(self, file, text, place, reason):
        status, output = self.run_on({file: text})
        self.assertEqual(status, 1, output)
        self.assertIn(place, output)
        self.assertIn(reason, output)
        self.assertEqual(len(output.splitlines()), 1, output)

    def test_a_tree_in_order_passes(self):
        status, output = self.run_on({})
        self.assertEqual(status, 0, output)

    def test_a_folder_includes_a_higher_one(self):
        self.expect_breach("src/base/up.h", '#pragma once\n#include "tensor/shape.h"\n', "src/base/up.h:2:", "goes up")

    def test_a_folder_includes_a_higher_one_by_a_relative_path(self):
        self.expect_breach("src/base/up.h", '#include "../tensor/shape.h"\n', "src/base/up.h:1:", "goes up")

    def test_a_folder_includes_a_higher_one_in_angle_brackets(self):
        self.expect_breach("src/base/up.h", "#  include <tensor/shape.h>\n", "src/base/up.h:1:", "goes up")

    def test_a_folder_includes_another_on_its_floor(self):
        self.expect_breach("src/text/a.cpp", '#include "tensor/shape.h"\n', "src/text/a.cpp:1:", "DEPENDS")

    def test_a_backend_includes_another(self):
        self.expect_breach(
            "src/kernels/cpu/a.cpp", '#include "kernels/reference/gemm.h"\n', "cpu/a.cpp:1:", "DEPENDS")

    def test_the_interface_includes_a_backend(self):
        self.expect_breach("src/kernels/a.cpp", '#include "kernels/cpu/gemm.h"\n', "kernels/a.cpp:1:", "goes up")

    def test_a_dependency_that_is_not_declared(self):
        self.expect_breach("src/ops/a.cpp", '#include "kernels/cpu/gemm.h"\n', "src/ops/a.cpp:1:", "DEPENDS")

    def test_cli_goes_behind_the_api(self):
        self.expect_breach("src/cli/a.cpp", '#include "base/error.h"\n', "src/cli/a.cpp:1:", "stands on <heed/...>")
        self.expect_breach("src/cli/a.cpp", '#include "api/model.h"\n', "src/cli/a.cpp:1:", "stands on <heed/...>")

    def test_a_folder_includes_a_leaf(self):
        self.expect_breach("src/api/a.cpp", '#include "trial/trial.h"\n', "src/api/a.cpp:1:", "DEPENDS")

    def test_a_public_header_shows_the_inside(self):
        self.expect_breach("include/heed/a.h", '#include "ops/linear.h"\n', "include/heed/a.h:1:", "public header")

    def test_a_lower_floor_knows_a_handle(self):
        self.expect_breach("src/ops/a.h", "#include <heed/model.h>\n", "src/ops/a.h:1:", "a handle of api/")

    def test_a_leaf_knows_a_handle(self):
        self.expect_breach("src/trial/a.h", "#include <heed/model.h>\n", "src/trial/a.h:1:", "a handle of api/")

    def test_a_value_type_knows_a_handle(self):
        self.expect_breach("include/heed/a.h", "#include <heed/model.h>\n", "include/heed/a.h:1:", "a handle of api/")

    def test_a_binding_goes_behind_the_public_headers(self):
        self.expect_breach("bindings/c/b.h", '#include "base/error.h"\n', "bindings/c/b.h:1:", "stand on <heed/...> alone")
        self.expect_breach("bindings/c/b.h", "#include <api/model.h>\n", "bindings/c/b.h:1:", "stand on <heed/...> alone")

    def test_a_dependency_that_nothing_uses(self):
        self.expect_breach(
            "src/CMakeLists.txt", TABLE.replace("LEAF DEPENDS ops", "LEAF DEPENDS ops text"), "src/CMakeLists.txt:13:",
            "trial DEPENDS text, but includes nothing of it")

    def test_a_folder_outside_the_house(self):
        self.expect_breach("src/attic/a.h", "\n", "src/attic/a.h:1:", "not in src/CMakeLists.txt")

    def test_a_subfolder_that_the_table_does_not_name_is_part_of_its_folder(self):
        status, output = self.run_on({"src/kernels/calls/a.h": '#include "tensor/shape.h"\n',
                                      "src/ops/more/a.cpp": '#include "kernels/calls/a.h"\n'})
        self.assertEqual(status, 0, output)
        self.expect_breach("src/kernels/calls/a.h", '#include "ops/linear.h"\n', "kernels/calls/a.h:1:", "goes up")


if __name__ == "__main__":
    unittest.main()
