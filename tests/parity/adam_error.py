"""How far Adam in f32 can be from Adam in f64 on the same gradients: a bound for each element, by rounding analysis.

Each line follows one line of the kernel. An operation that is rounded once errs by at most U of its result; a constant
in f32 errs by U too. What is bounded to first order is taken with one percent more, for products of errors.
"""

import numpy

U = 2.0 ** -24
SMALLEST = 2.0 ** -126  # below it, products lose more than U


class AdamError:
    """Bounds on the errors of an element's weight and of its moments; zero at the beginning."""

    def __init__(self, shape, steps):
        self.steps = steps
        self.weight, self.first, self.second = (numpy.zeros(shape) for _ in range(3))

    def step(self, number, gradient, weight, first, second, former):
        """`gradient` is clipped; `weight` is as before this step; `former` has the moments before, `first` and `second`
        those after it. `number` counts from 1."""
        s = self.steps
        coupled = s.weight_decay if s.decay == "coupled" else 0.0
        # g = fma(coupled, w, clip * gradient)
        g = gradient + coupled * weight
        g_error = 2 * U * abs(gradient) + coupled * (self.weight + U * abs(weight)) + U * abs(g)
        # m = fma(beta1, m, (1 - beta1) * g)
        self.first = (s.beta1 * (self.first + U * abs(former[0])) + (1 - s.beta1) * (g_error + 2 * U * abs(g)) +
                      U * abs(first))
        # v = fma(beta2, v, (1 - beta2) * (g * g))
        self.second = (s.beta2 * (self.second + U * former[1]) + U * second + SMALLEST +
                       (1 - s.beta2) * (2 * abs(g) * g_error + g_error ** 2 + 3 * U * g ** 2))
        # deviation = fma(sqrt(v), correction, epsilon)
        correction = (1 - s.beta2 ** number) ** -0.5
        root = numpy.sqrt(second)
        root_error = self.second / numpy.maximum(root, numpy.sqrt(self.second)) + U * root
        deviation = root * correction + s.epsilon
        deviation_error = correction * (root_error + U * root) + U * s.epsilon + U * deviation
        # w = fma(-step, m / deviation, kept * w)
        size = s.learning_rate / (1 - s.beta1 ** number)
        quotient = abs(first) / deviation
        least = numpy.maximum(deviation - deviation_error, 0.5 * s.epsilon)
        quotient_error = (self.first + quotient * deviation_error) / least + U * quotient
        self.weight = 1.01 * (self.weight + size * (quotient_error + U * quotient) + 3 * U * abs(weight))
