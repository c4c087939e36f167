"""One optimizer step in eager PyTorch: forward, backward, gradient clipping, update."""

import time

import torch

MAX_GRADIENT_NORM = 1.0
PADDING = -100  # a target that is none


def clip_gradients(parameters):
    gradients = [parameter.grad for parameter in parameters]
    norm = torch.stack(torch._foreach_norm(gradients)).norm().item()
    if norm > MAX_GRADIENT_NORM:
        torch._foreach_mul_(gradients, MAX_GRADIENT_NORM / norm)


class Optimization:
    """`optimizer` is a class of torch.optim, `settings` its arguments."""

    def __init__(self, model, vocab, precision, smoothing, optimizer, **settings):
        self.model = model
        self.vocab = vocab
        self.bf16 = precision == "bf16"
        self.smoothing = smoothing
        self.parameters = list(model.parameters())
        # foreach sweeps all parameters once per arithmetic operation, so they leave the cache between
        # operations: a quarter slower than one parameter at a time, for tiny and base alike.
        self.optimizer = optimizer(self.parameters, foreach=False, **settings)

    def count(self):
        return sum(parameter.numel() for parameter in self.parameters)

    def step(self, inputs, targets):
        """Seconds that a step took."""
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
            logits = self.model(*inputs).view(-1, self.vocab)
            loss = torch.nn.functional.cross_entropy(
                logits, targets.reshape(-1), label_smoothing=self.smoothing, ignore_index=PADDING
            )
        loss.backward()
        clip_gradients(self.parameters)
        self.optimizer.step()
        return time.perf_counter() - start
