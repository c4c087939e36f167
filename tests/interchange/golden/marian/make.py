#!/usr/bin/env python3
"""Writes the files of NumPy beside this script: make.py"""

import pathlib

import numpy

here = pathlib.Path(__file__).parent
settings = "type: transformer\ndim-emb: 4\ndim-vocabs:\n  - 3\n  - 3\n"
arrays = {
    "encoder_l1_self_Wq": numpy.arange(6, dtype="<f4").reshape(2, 3),
    "Wemb": numpy.array([[1, -2]], dtype="<f2"),
    "counts": numpy.array([3, 4], dtype="<i8"),
    "scalar": numpy.array(0.5, dtype="<f8"),
    "special:model.yml": numpy.frombuffer(settings.encode() + b"\0", dtype="i1"),
}
numpy.savez(here / "model.npz", **arrays)
numpy.savez_compressed(here / "compressed.npz", a=numpy.zeros((64, 64), dtype="<f4"))
numpy.savez(here / "fortran.npz", a=numpy.asfortranarray(numpy.ones((2, 3), dtype="<f4")))
numpy.savez(here / "big_endian.npz", a=numpy.ones(2, dtype=">f4"))
