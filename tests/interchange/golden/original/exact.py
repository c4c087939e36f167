"""The library's models in double throughout: it computes norms, softmax and angles in f32 otherwise."""

import contextlib
import copy

import numpy as np
import torch
import transformers as tf


class Exact:
    """Within it, what the library asks to be f32 is f64."""

    def __enter__(self):
        self.saved = torch.float32, torch.float, torch.get_default_dtype()
        torch.float32 = torch.float = torch.float64
        torch.Tensor.float = lambda self, *a, **k: self.double()
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *_):
        torch.float32, torch.float, default = self.saved
        del torch.Tensor.float
        torch.set_default_dtype(default)


def sinusoids(rows, width):
    """Marian's and Pegasus's table, as these classes fill it, without their rounding to f32."""
    position = np.array([[p / 10000 ** (2 * (j // 2) / width) for j in range(width)] for p in range(rows)])
    half = (width + 1) // 2
    table = np.zeros((rows, width))
    table[:, :half], table[:, half:] = np.sin(position[:, 0::2]), np.cos(position[:, 1::2])
    return torch.from_numpy(table)


def eager(config):
    with contextlib.suppress(Exception):
        config._attn_implementation = "eager"
    for part in ("text_config", "encoder", "decoder"):
        inner = getattr(config, part, None)
        if inner is not None and hasattr(inner, "to_dict"):
            eager(inner)
    return config


def take_parameters(model, plain):
    """The parameters of `plain` as doubles; those that share a tensor there, and no others, share one here."""
    copies = {}

    def copied(value):
        if id(value) not in copies:
            copies[id(value)] = value, torch.nn.Parameter(value.detach().double().clone(), requires_grad=False)
        return copies[id(value)][1]

    for name, module in plain.named_modules():
        mine = model.get_submodule(name)
        for key, value in module._parameters.items():
            if value is not None:
                mine._parameters[key] = copied(value)
        for key in module._buffers:
            if key in module.state_dict() and module._buffers[key] is not None:
                mine._buffers[key] = module._buffers[key].detach().double().clone() \
                    if module._buffers[key].is_floating_point() else module._buffers[key].clone()


def exact_model(plain, folder):
    """The same model, built anew so that its tables of angles are doubles."""
    config = eager(tf.AutoConfig.from_pretrained(folder))
    with Exact():
        model = type(plain)(config).double().eval()
        take_parameters(model, plain)
        for module in model.modules():
            table = getattr(module, "weight", None)
            if "Sinusoidal" in type(module).__name__ and isinstance(table, torch.Tensor):
                better = sinusoids(*table.shape)
                if torch.allclose(table.double(), better, atol=1e-5):
                    table.copy_(better)
    if hasattr(plain, "generation_config"):
        model.generation_config = copy.deepcopy(plain.generation_config)
    return model
