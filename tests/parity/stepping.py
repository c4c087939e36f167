"""Optimizer steps on both sides.

Biases of keys are left out. Adding one number to all of a query's scores changes no softmax, so their true gradient is
zero, and Adam makes whole steps of what rounding leaves of it.
"""

import cases
from parity import Comparison, run_heed, run_torch

import numpy


def without_key_bias(name, values, config):
    """[queries | keys | values] or [keys | values] without the keys."""
    width = config.get("head_width") or config["model"] // config["heads"]
    keys = config.get("key_value_heads", config["heads"]) * width
    values = values.reshape(-1)
    if name.endswith(".projection.bias"):
        queries = config["heads"] * width
        return numpy.delete(values, slice(queries, queries + keys))
    return values[keys:] if name.endswith(".key_value.bias") else values


def run_both(config, precision, steps, oracle_steps=None):
    """What is expected and what is found: "gradient norms", "logits after" and every "after:<parameter>". The oracle's
    steps may be other ones, to see that the difference is noticed."""
    oracle = cases.oracle_of(config).begin(seed=1, precision=precision)
    batches = [cases.batch_of(config, seed) for seed in (3, 4, 5)]
    found = run_heed(config, oracle.heed_weights(), batches, precision=precision, steps=steps)
    expected = run_torch(oracle, batches, steps=oracle_steps or steps)
    return [{name: without_key_bias(name, value, config) for name, value in results.items()
             if name in ("gradient norms", "logits after") or name.startswith("after:")}
            for results in (expected, found)]


def group_of(name):
    return "parameters after" if name.startswith("after:") else name


def elements_agree(title, config, precision, steps, relative, oracle_steps=None):
    expected, found = run_both(config, precision, steps, oracle_steps)
    comparison = Comparison(title)
    for name, value in expected.items():
        floor = 0.1 * float(numpy.sqrt((value ** 2).mean()))
        comparison.elements(group_of(name), name, value, found[name], relative, floor)
    return comparison


def norms_agree(title, config, precision, steps, tolerances):
    """`tolerances` are of "gradient norms", "logits after" and "parameters after"."""
    expected, found = run_both(config, precision, steps)
    comparison = Comparison(title)
    for name, value in expected.items():
        comparison.norm(group_of(name), name, value, found[name], tolerances[group_of(name)])
    return comparison
