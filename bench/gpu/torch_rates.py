#!/usr/bin/env python3
"""The device's rates by PyTorch: a large bf16 product, and a copy in its memory. Prints one JSON object."""

import json
import statistics

import torch


def seconds_of(work, repeats=20):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times)


a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
product = seconds_of(lambda: a @ b.T)
from_memory, to_memory = (torch.randn(1 << 29, device="cuda") for _ in range(2))
copy = seconds_of(lambda: to_memory.copy_(from_memory))
print(json.dumps({"device": torch.cuda.get_device_name(), "bf16_flops_per_second": 2 * 8192**3 / product,
                  "copy_bytes_per_second": 2 * 4 * (1 << 29) / copy}))
