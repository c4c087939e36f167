"""Optimizer steps on both sides.

In f64 both sides go their own way from the same weights. Adam divides by the root of the mean square of a gradient:
where that is an accident of cancellation, its rounding decides a whole step. In f32 and bf16 PyTorch's optimizer is
therefore given heed's own gradients, which the other tests compare; what remains is the arithmetic of the optimizer,
whose error has a bound for each element, and the model with the weights that the steps led to.

Biases of keys are left out in f64. Adding one number to all of a query's scores changes no softmax, so their true
gradient is zero, and Adam makes whole steps of what rounding leaves of it.
"""

import cases
from adam_error import AdamError
from parity import Comparison, exactly, real_rows, run_heed, run_torch
from rounding import bounds_of

import numpy
import torch


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


def stepped(weights, results, steps):
    """The gradient norms and weights of PyTorch's optimizer on heed's gradients, and the bounds of the weights' errors."""
    parameters = {name: torch.nn.Parameter(value.double().clone()) for name, value in weights.items()}
    errors = {name: AdamError(value.shape, steps) for name, value in weights.items()}
    optimizer = steps.optimizer(parameters.values())
    norms = []

    def moments(parameter):
        state = optimizer.state[parameter]
        kinds = ("exp_avg", "exp_avg_sq")
        return [state[kind].numpy().copy() if kind in state else numpy.zeros(parameter.shape) for kind in kinds]

    for step in range(steps.count):
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(results[f"gradient {step}:{name}"]).reshape(parameter.shape)
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), steps.max_norm).item())
        before = {name: (parameter.detach().numpy().copy(), moments(parameter)) for name, parameter in parameters.items()}
        optimizer.step()
        for name, parameter in parameters.items():
            weight, former = before[name]
            errors[name].step(step + 1, parameter.grad.numpy(), weight, *moments(parameter), former)
    return numpy.array(norms), parameters, errors


def compare_logits(comparison, oracle, batch, found, precision):
    """Within the bound of what rounding to the precision may change."""
    def logits(rounding):
        with rounding(forward=True):
            outputs = oracle(batch)
        return {"logits after": real_rows(batch, outputs).detach().numpy()}

    exact = logits(exactly)
    bounds = bounds_of(exact, logits, precision)
    comparison.norm("logits after", "logits after", exact["logits after"], found, bounds["logits after"])


def own_gradients_agree(title, config, precision, steps, oracle_steps=None):
    """Each weight within the bound of its error; then the logits of the model with the new weights, which heed's matrices
    hold in the precision."""
    oracle = cases.oracle_of(config).begin(seed=1, precision=precision)
    batches = [cases.batch_of(config, seed) for seed in (3, 4, 5)]
    weights = oracle.heed_weights()
    found = run_heed(config, weights, batches, precision=precision, steps=steps)
    norms, expected, errors = stepped(weights, found, oracle_steps or steps)
    comparison = Comparison(title)
    # The squares are summed in double; the clipping of norms adds 1e-6 to each.
    comparison.elements("gradient norms", "gradient norms", norms, found["gradient norms"].ravel(), 1e-12)
    after = {}
    for name, parameter in expected.items():
        after[name] = torch.tensor(found["after:" + name]).reshape(parameter.shape)
        comparison.within("parameters after", "after:" + name, parameter.detach().numpy(), after[name].numpy(),
                          errors[name].weight)
    if precision == "bf16":
        after.update({name: value.bfloat16().double() for name, value in after.items() if value.dim() > 1})
    oracle.load(after)
    compare_logits(comparison, oracle, batches[0], found["logits after"], precision)
    return comparison
