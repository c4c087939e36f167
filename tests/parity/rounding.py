"""How far results move where each operation rounds: bounds for heed's results in bf16 and f32, from the oracle alone.

To first order the error of a result is a sum over all roundings k, e = sum_k J_k r_k: r_k is the error of what is
rounded, |r_k| <= u |x_k| with u = 2^-bits, and J_k says how the result follows from it. Roundings have nothing to do with
each other, so E |e|^2 = sum_k |J_k|^2 E r_k^2, in which units, condition and depth are, for each model and each tensor.
The sum is evaluated by draws: the oracle runs forward and backward, and what each of its operations gives is rounded at
random, up or down with probabilities of which the mean is exact. Then E r^2 is twice that of rounding to nearest, and the
oracle has more operations than heed has results that it rounds.

In f32 each addition within a sum rounds too; in bf16 sums are in f32. After k terms t of no order a sum's square is k times
the mean of t^2, so that n additions one after the other have errors of sum_k u^2 / 3 * k mean(t^2) = u^2 / 6 * n sum(t^2).
heed's sums have shorter chains, side by side.
"""

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

BITS = {"f32": 24, "bf16": 8}  # of significands, the leading one included
DRAWS = 6
# heed's error is one more draw, of half the variance. If it has one degree of freedom, then over the deviation that 6
# draws tell it follows Student's distribution: one in 800 is beyond 4 * sqrt(2).
DEVIATIONS = 4.0
# One in 30,000 is beyond 8 * sqrt(2): for f32, where hundreds of tensors are compared on each instruction set, and all of a
# model may share one degree of freedom, so that the mean of their squares tells no more than each of them.
DEVIATIONS_OF_MANY = 8.0
# Of many tensors the root of the mean square of errors over deviations hardly varies: it should be 1 / sqrt(2). Twice that
# is allowed.
TOGETHER = 2.0 * 0.5 ** 0.5 / DEVIATIONS


ATEN = torch.ops.aten
# What sums: the number of terms and the sum of their squares.
SUMS = {
    ATEN.mm.default: lambda a, b: (a.shape[-1], a.square() @ b.square()),
    ATEN.bmm.default: lambda a, b: (a.shape[-1], a.square() @ b.square()),
    ATEN.addmm.default: lambda bias, a, b: (a.shape[-1], a.square() @ b.square()),
    ATEN.sum.default: lambda x: (x.numel(), x.square().sum()),
    ATEN.sum.dim_IntList: lambda x, dims, keep=False: (
        x.numel() // max(1, x.sum(dims).numel()), x.square().sum(dims, keep)),
}


class RandomRounding(TorchDispatchMode):
    """Rounds what each operation in f64 gives, but for views and, in the forward direction, for what depends on no weight,
    such as the angles of positions."""

    def __init__(self, bits, seed, forward):
        super().__init__()
        self.forward = forward
        self.sums = SUMS if bits > 8 else {}
        self.unit = 2.0 ** -bits
        self.dropped = 1 << (53 - bits)  # of the last places of a f64
        self.generator = numpy.random.Generator(numpy.random.SFC64(seed))  # faster than PyTorch's

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        results = function(*arguments, **(keywords or {}))
        if self.forward and not any(value.requires_grad for value in tree_flatten((arguments, keywords))[0]
                                    if isinstance(value, torch.Tensor)):
            return results
        if function in self.sums and results.dtype == torch.float64:
            terms, squares = self.sums[function](*arguments)
            draws = torch.from_numpy(self.generator.standard_normal(results.shape, dtype=numpy.float32))
            results = results + self.unit * (terms / 6 * squares).sqrt() * draws
        aliases = [value.alias_info for value in function._schema.returns if value.alias_info is not None]
        if not aliases:
            return tree_map(self.rounded, results)
        if all(alias.is_write for alias in aliases) and isinstance(results, torch.Tensor):
            results.copy_(self.rounded(results))
        return results

    def rounded(self, value):
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float64:
            return value
        draws = self.generator.integers(-(1 << 63), (1 << 63) - 1, value.shape, numpy.int64, endpoint=True)
        draws = torch.from_numpy(numpy.asarray(draws)).bitwise_and_(self.dropped - 1)
        return draws.add_(value.view(torch.int64)).bitwise_and_(-self.dropped).view(torch.float64)


def bounds_of(exact, run, precision, deviations=DEVIATIONS):
    """A bound on the norm of each tensor's error: `exact` has the tensors by name, and run(rounding) gives them again,
    with the model's operations in contexts that rounding(forward=True) and rounding(forward=False) make."""
    squares = dict.fromkeys(exact, 0.0)
    for seed in range(DRAWS):
        drawn = run(lambda forward: RandomRounding(BITS[precision], seed, forward))
        for name, value in exact.items():
            squares[name] += numpy.square(drawn[name] - value).sum()
    return {name: deviations * float(numpy.sqrt(square / DRAWS)) for name, square in squares.items()}
