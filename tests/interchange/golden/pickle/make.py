#!/usr/bin/env python3
"""Writes the files of torch.save beside this script, with PyTorch 1.13: make.py"""

import collections
import pathlib

import torch

here = pathlib.Path(__file__).parent


def weights():
    matrix = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    state = collections.OrderedDict()
    state["matrix"] = matrix
    state["tied"] = matrix
    state["transposed"] = matrix.t()
    state["second_row"] = matrix[1]
    state["column"] = matrix[:, 1]
    state["scalar"] = torch.tensor(2.5)
    state["none"] = torch.zeros(0, 4)
    state["parameter"] = torch.nn.Parameter(torch.tensor([0.5, -0.5]))
    for name, kind in {"half": torch.float16, "brain": torch.bfloat16, "double": torch.float64, "long": torch.int64,
                       "int": torch.int32, "short": torch.int16, "char": torch.int8, "byte": torch.uint8,
                       "boolean": torch.bool}.items():
        state[name] = torch.tensor([1, 0, 3]).to(kind)
    return state


def module():
    torch.manual_seed(1)
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))
    for parameter in layer.parameters():
        torch.nn.init.constant_(parameter, 0.25)
    return layer.state_dict()  # has the attribute _metadata


torch.save(weights(), here / "weights.bin")
torch.save(weights(), here / "legacy.bin", _use_new_zipfile_serialization=False)
torch.save({"model": module(), "epoch": 3, "loss": 0.5, "name": "run", "list": [torch.ones(1), {"deep": torch.ones(2)}],
            "big": 2**70, "nothing": None}, here / "nested.pt")
torch.save(module(), here / "protocol4.bin", pickle_protocol=4)
