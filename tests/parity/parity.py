"""Runs heed and PyTorch on the same weights and inputs, and compares what they give.

A test makes an oracle (oracles.py), batches, and asks `run_heed` and `run_torch` for the same results by name:
"logits", "losses", "gradient:<parameter>", "after:<parameter>", "logits after", "gradient norms", and scalars.
PyTorch works in float64 on the padded batch; only real tokens are compared.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    from torch.nn import functional
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

IGNORED = -1
# Both sides take what heed holds in f32.
SMOOTHING = float(numpy.float32(0.1))


class Rectangle:
    """Sequences in a rectangular batch. Padding is made of valid tokens too, so that a leak shows."""

    def __init__(self, generator, lengths, vocabulary):
        self.lengths = list(lengths)
        self.width = max(self.lengths)
        self.tokens = torch.randint(vocabulary, (len(self.lengths), self.width), generator=generator)
        self.types = None

    def real(self):
        return torch.arange(self.width)[None, :] < torch.tensor(self.lengths)[:, None]

    def request(self):
        request = {"width": self.width, "lengths": self.lengths, "tokens": self.tokens.flatten().tolist()}
        return request if self.types is None else {**request, "types": self.types.flatten().tolist()}


class Batch:
    """`ignored` is the share of the target's tokens that are not to be predicted. `expected` has a column for each token,
    or a single one for a model that labels texts; `rows` says which of its elements are real. `values` are the targets
    of several labels or a number, a row for each text."""

    def __init__(self, config, seed, target_lengths, source_lengths=None, ignored=0.0):
        generator = torch.Generator().manual_seed(seed)
        vocabulary = config["source_vocabulary" if config["architecture"] == "encoder" else "target_vocabulary"]
        self.source = source_lengths and Rectangle(generator, source_lengths, config["source_vocabulary"])
        self.target = Rectangle(generator, target_lengths, vocabulary)
        self.expected = Rectangle(generator, target_lengths, vocabulary).tokens
        dropped = torch.rand(self.expected.shape, generator=generator) < ignored
        self.rows = self.target.real()
        self.expected[dropped | ~self.rows] = IGNORED
        self.values = None
        self.draw_labels(config, generator)
        if config.get("token_types"):
            self.target.types = torch.randint(config["token_types"], self.target.tokens.shape, generator=generator)

    def draw_labels(self, config, generator):
        head, texts = config.get("head", "tokens"), len(self.target.lengths)
        if head == "token-labels":
            self.expected[self.expected != IGNORED] %= len(config["labels"])
        elif head != "tokens":
            labels = len(config["labels"]) if head != "number" else 1
            self.expected = torch.randint(labels, (texts, 1), generator=generator)
            self.rows = self.expected != IGNORED
        if head == "labels":
            self.values = torch.randint(2, (texts, labels), generator=generator).double()
        if head == "number":
            self.values = torch.randn(texts, 1, generator=generator).float().double()

    def request(self):
        request = {"target": self.target.request(), "expected": self.expected.flatten().tolist()}
        if self.values is not None:
            request.update(values=self.values.flatten().tolist(), labels=self.values.shape[1])
        if self.source:
            request["source"] = self.source.request()
        return request


class Steps:
    """Optimizer steps; `decay` is "coupled" (Adam) or "decoupled" (AdamW)."""

    def __init__(self, decay, count=10, learning_rate=1e-3, weight_decay=0.1, beta1=0.9, beta2=0.98, epsilon=1e-8,
                 max_norm=1.0):
        self.__dict__.update({key: value for key, value in locals().items() if key != "self"})

    def optimizer(self, parameters):
        kind = {"coupled": torch.optim.Adam, "decoupled": torch.optim.AdamW}[self.decay]
        return kind(parameters, lr=self.learning_rate, betas=(self.beta1, self.beta2), eps=self.epsilon,
                    weight_decay=self.weight_decay)


def to_toml(config):
    text = {str: lambda v: f'"{v}"', bool: lambda v: str(v).lower()}
    return "[model]\n" + "".join(f"{key} = {text.get(type(v), repr)(v)}\n" for key, v in config.items())


def write_request(folder, config, weights, request):
    with open(os.path.join(folder, "model.toml"), "w") as file:
        file.write(to_toml(config))
    with open(os.path.join(folder, "request.json"), "w") as file:
        json.dump(request, file)
    with open(os.path.join(folder, "weights.bin"), "wb") as file:
        for value in weights.values():
            file.write(value.numpy().astype("<f4").tobytes())


def read_results(folder):
    with open(os.path.join(folder, "results.json")) as file:
        index = json.load(file)
    results = dict(index["scalars"])
    values = numpy.fromfile(os.path.join(folder, "results.bin"), "<f8")
    for tensor in index["tensors"]:
        elements = int(numpy.prod(tensor["shape"]))
        results[tensor["name"]], values = values[:elements].reshape(tensor["shape"]), values[elements:]
    assert values.size == 0
    return results


def driver():
    if "HEED_PARITY_DRIVER" not in os.environ:
        sys.exit("HEED_PARITY_DRIVER is not set: build heed_parity_driver and set it to that program")
    return os.environ["HEED_PARITY_DRIVER"]


def bf16_products():
    """The kinds of bf16 products that this processor can do."""
    return subprocess.run([driver(), "--bf16-products"], capture_output=True, text=True, check=True).stdout.split()


def run_heed(config, weights, batches, precision="f32", smoothing=SMOOTHING, layout="ragged", loss_path="fused",
             steps=None, seed=1):
    """`weights` are tensors by heed's names."""
    request = {
        "precision": precision, "smoothing": smoothing, "layout": layout, "loss_path": loss_path, "seed": seed,
        "batches": [batch.request() for batch in batches],
        "weights": [{"name": name, "shape": list(value.shape)} for name, value in weights.items()],
    }
    if steps:
        request["steps"] = vars(steps)
    with tempfile.TemporaryDirectory() as folder:
        write_request(folder, config, weights, request)
        done = subprocess.run([driver(), folder], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"the driver failed ({done.returncode}): {done.stderr}")
        return read_results(folder)


def real_rows(batch, padded):
    """The rows of real tokens, or of texts, end to end."""
    return padded[batch.rows]


def exactly(forward):
    return contextlib.nullcontext()


def differentiate(oracle, batch, smoothing, rounding=exactly):
    """`rounding` makes the contexts in which the model runs forward and backward (rounding.py); the loss comes in between."""
    oracle.zero_grad()
    with rounding(forward=True):
        outputs = oracle(batch)
    logits = real_rows(batch, outputs)
    expected = real_rows(batch, batch.expected)
    if batch.values is None:
        loss = functional.cross_entropy(logits, expected, ignore_index=IGNORED, label_smoothing=smoothing)
    else:
        loss = value_losses(logits, batch.values, oracle.config["head"]).mean()
    with rounding(forward=False):
        loss.backward()
    return logits.detach(), expected


def value_losses(logits, values, head):
    """Of each text: the sum over its labels, or half the squared difference of its number."""
    if head == "number":
        return 0.5 * functional.mse_loss(logits, values, reduction="none").sum(dim=1)
    return functional.binary_cross_entropy_with_logits(logits, values, reduction="none").sum(dim=1)


def losses_of_values(logits, values, head):
    losses = value_losses(logits, values, head)
    totals = dict.fromkeys(("total_smoothed", "total_negative_log_likelihood", "total_divergence"), losses.sum().item())
    return {"losses": losses[:, None].expand(-1, 2).numpy(), "counted": len(losses), **totals}


def losses_of(logits, expected, smoothing):
    def losses(s):
        return functional.cross_entropy(logits, expected, ignore_index=IGNORED, label_smoothing=s, reduction="none")

    counted = expected != IGNORED
    vocabulary = logits.shape[1]
    smoothed = functional.one_hot(expected[counted], vocabulary) * (1 - smoothing) + smoothing / vocabulary
    log_probs = functional.log_softmax(logits[counted], dim=1)
    return {
        "losses": torch.stack([losses(smoothing), losses(0.0)], dim=1).numpy(),
        "counted": int(counted.sum()),
        "total_smoothed": losses(smoothing).sum().item(),
        "total_negative_log_likelihood": losses(0.0).sum().item(),
        "total_divergence": functional.kl_div(log_probs, smoothed, reduction="sum").item(),
    }


def take_steps(oracle, batches, smoothing, steps):
    optimizer = steps.optimizer(oracle.parameters())
    norms = []
    for step in range(steps.count):
        differentiate(oracle, batches[step % len(batches)], smoothing)
        norms.append(torch.nn.utils.clip_grad_norm_(oracle.parameters(), steps.max_norm).item())
        optimizer.step()
    results = {"gradient norms": numpy.array([norms])}
    for name, value in oracle.heed_weights().items():
        results["after:" + name] = value.numpy()
    results["logits after"] = real_rows(batches[0], oracle(batches[0])).detach().numpy()
    return results


def run_torch(oracle, batches, smoothing=SMOOTHING, steps=None, rounding=exactly):
    logits, expected = differentiate(oracle, batches[0], smoothing, rounding)
    values = batches[0].values
    losses = (losses_of(logits, expected, smoothing) if values is None else
              losses_of_values(logits, values, oracle.config["head"]))
    results = {"logits": logits.numpy(), **losses}
    for name, value in oracle.heed_gradients().items():
        results["gradient:" + name] = value.numpy()
    if steps:
        results.update(take_steps(oracle, batches, smoothing, steps))
    return results


def gradients_in(results):
    return {name: value for name, value in results.items() if name.startswith("gradient:")}


def global_norm(gradients):
    return float(numpy.sqrt(sum((value ** 2).sum() for value in gradients.values())))


class Comparison:
    """Collects how far results are from what is expected, each error in units of its tolerance."""

    def __init__(self, title):
        self.title = title
        self.worst = {}
        self.failures = []

    def elements(self, group, name, expected, found, relative, floor=0.0):
        """Each element: |found - expected| <= relative * max(|expected|, floor)."""
        expected = numpy.asarray(expected, dtype=float)
        found = numpy.asarray(found, dtype=float).reshape(expected.shape)
        size = numpy.maximum(numpy.abs(expected), floor)
        error = numpy.abs(found - expected)
        # Where the tolerance is zero, only zero is allowed; NaN never is.
        error = numpy.where(error == 0, 0.0, error / numpy.maximum(size, 1e-300))
        error = numpy.where(numpy.isnan(found), numpy.inf, error)
        at = numpy.unravel_index(error.argmax(), error.shape)
        where = f"{name}{list(map(int, at))}"
        self.note(group, where, float(error[at]), relative, f"expected {expected[at]:.9g}, found {found[at]:.9g}")

    def within(self, group, name, expected, found, bounds):
        """Each element: |found - expected| <= its bound. The error is in units of it."""
        error = numpy.abs(found - expected)
        error = numpy.where(error == 0, 0.0, error / numpy.maximum(bounds, 1e-300))
        error = numpy.where(numpy.isnan(found), numpy.inf, error)
        at = numpy.unravel_index(error.argmax(), error.shape)
        self.note(group, f"{name}{list(map(int, at))}", float(error[at]), 1.0,
                  f"expected {expected[at]:.9g}, found {found[at]:.9g}, bound {bounds[at]:.3g}")

    def norm(self, group, name, expected, found, bound):
        """|found - expected| <= bound, as norms of whole tensors. The error is in units of the bound."""
        difference = numpy.linalg.norm((found.reshape(expected.shape) - expected).ravel())
        size = numpy.linalg.norm(expected.ravel())
        error = float(difference / max(bound, 1e-300)) if numpy.isfinite(difference) else numpy.inf
        self.note(group, name, error, 1.0,
                  f"expected norm {size:.6g}, found {numpy.linalg.norm(found):.6g}, difference {difference:.3g}")
        return error

    def same(self, group, name, expected, found):
        """The same bits."""
        expected, found = numpy.asarray(expected, dtype=float), numpy.asarray(found, dtype=float)
        different = expected.reshape(-1).view("u8") != found.reshape(-1).view("u8")
        at = int(different.argmax())
        self.note(group, f"{name}[{at}]", float(different.sum()), 0.0,
                  f"{int(different.sum())} elements differ, first: expected {expected.flat[at]!r}, "
                  f"found {found.flat[at]!r}")

    def note(self, group, where, error, allowed, text):
        if group not in self.worst or not error <= self.worst[group][0]:
            self.worst[group] = (error, allowed, where)
        if not error <= allowed:
            self.failures.append(f"{where}: {text}, error {error:.3g}, allowed {allowed:.3g}")

    def passed(self):
        return not self.failures

    def report(self):
        print(f"{'ok  ' if self.passed() else 'FAIL'} {self.title}")
        for group, (error, allowed, where) in self.worst.items():
            print(f"       {group:22s} worst {error:.2e} of {allowed:.2g} at {where}")
        for failure in self.failures[:20]:
            print(f"       {failure}")
        if len(self.failures) > 20:
            print(f"       and {len(self.failures) - 20} more")
        return self.passed()


def compare_elements(comparison, expected, found, relative=1e-4):
    """Logits to `relative` of themselves or, near zero, of a tenth of a typical one; losses to `relative`; gradients to
    `relative` of themselves or of 1e-3 of all gradients' norm."""
    typical = float(numpy.sqrt((expected["logits"] ** 2).mean()))
    comparison.elements("logits", "logits", expected["logits"], found["logits"], relative, floor=0.1 * typical)
    comparison.elements("losses", "losses", expected["losses"], found["losses"], relative)
    for name in ("counted", "total_smoothed", "total_negative_log_likelihood", "total_divergence"):
        comparison.elements("totals", name, expected[name], found[name], relative)
    require_names(comparison, expected, found)
    gradients = gradients_in(expected)
    floor = 1e-3 * global_norm(gradients)
    for name, value in gradients.items():
        comparison.elements("gradients", name, value, found[name], relative, floor=floor)


def require_names(comparison, expected, found):
    if gradients_in(expected).keys() != gradients_in(found).keys():
        comparison.failures.append(f"parameters: expected {sorted(gradients_in(expected))}, "
                                   f"found {sorted(gradients_in(found))}")


def compare_norms(comparison, expected, found, bounds, together):
    """Each tensor by its norm, within a bound of its own, and all by the root mean square of errors over bounds."""
    require_names(comparison, expected, found)
    errors = []
    for name in ("logits", "losses", *gradients_in(expected)):
        group = "gradients" if name.startswith("gradient:") else name
        errors.append(comparison.norm(group, name, expected[name], found[name], bounds[name]))
    root_mean_square = float(numpy.sqrt(numpy.square(errors).mean()))
    comparison.note("together", "all", root_mean_square, together, "root mean square of errors over bounds")


def finish(comparisons):
    results = [comparison.report() for comparison in comparisons]
    print(f"{sum(results)} of {len(results)} comparisons passed")
    sys.exit(0 if all(results) and results else 1)


def require_noticed(mistakes):
    """Of pairs of a mistake and the comparison that must fail because of it."""
    missed, count = [], 0
    for title, comparison in mistakes:
        count += 1
        times = max((error / allowed if allowed else error) for error, allowed, _ in comparison.worst.values())
        print(f"{'MISSED' if comparison.passed() else 'noticed'} {title}: {times:.3g} times the tolerance")
        if comparison.passed():
            missed.append(title)
    print(f"{count - len(missed)} of {count} mistakes noticed")
    sys.exit(1 if missed or not count else 0)
