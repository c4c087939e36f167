"""tools/measure_house.py counts what it says it counts."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import measure_house

PAGE = """# Architecture

## A sentence's way through `heed translate`

1. [`one`](../src/a.cpp) calls [`two`](../src/b.cpp#L3)
2. [`three`](../src/a.cpp)

## A batch's way through `heed train`

1. [`four`](../src/c.cpp)

## Words

[`five`](../src/d.cpp)
"""


class House(unittest.TestCase):
    def test_hops_are_the_linked_functions_of_a_walk(self):
        self.assertEqual(measure_house.walks(PAGE), {"translate": ["../src/a.cpp", "../src/b.cpp", "../src/a.cpp"],
                                                     "train": ["../src/c.cpp"]})

    def test_backends_are_folders_of_their_own(self):
        self.assertEqual(measure_house.folder_of("src/kernels/cpu/loss/loss.cpp"), "src/kernels/cpu")
        self.assertEqual(measure_house.folder_of("src/kernels/calls/loss.h"), "src/kernels")
        self.assertEqual(measure_house.folder_of("src/decode/search/search.cpp"), "src/decode")
        self.assertEqual(measure_house.folder_of("include/heed/errors.h"), "include")


if __name__ == "__main__":
    unittest.main()
