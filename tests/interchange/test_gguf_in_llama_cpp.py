"""The golden GGUF files in llama.cpp's own runtime, where bench/peers/install_llama_cpp has installed it: the same
log-probabilities as by the families' definitions, so that the files are what that program reads."""

import pathlib
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "bench" / "peers"), str(pathlib.Path(__file__).parent / "golden")]

import llama_cpp  # noqa: E402

try:
    import torch  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not llama_cpp.is_installed():
    print(f"skipped: llama.cpp is not there; {llama_cpp.INSTALL}")
    sys.exit(77)

import gguf_files  # noqa: E402
from catalogue_gguf import GGUF  # noqa: E402
from parts import Reading  # noqa: E402

# In nats, in f32; llama.cpp takes GELU from a table of f16 values, and rounds what it multiplies blocks by.
ROUNDING = {"gemma": 5e-3, "gemma-2": 5e-3, "gemma-3": 5e-3, "gpt2": 5e-3, "llama-q8_0": 0.2, "llama-q4_0": 0.4}
# llama.cpp ignores Mistral's window, which makes no difference for as many tokens as the window has.
LENGTHS = {"mistral": 5}
failures = []
for model in GGUF:
    store, ids = model.store(), model.cases[0]["ids"][:LENGTHS.get(model.name)]
    expected = model.run(store, Reading(), {"ids": ids})["logits"].log_softmax(-1)
    if model.blocks is None:
        store.tensors = {name: tensor.float() for name, tensor in store.tensors.items()}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.gguf"
        gguf_files.write_model(file, model, store)
        (scores,) = llama_cpp.ask(file, "score", [ids], cache="f32")
    worst = max(abs(score - float(expected[i, ids[i + 1]])) for i, score in enumerate(scores))
    print(f"{model.name}: at most {worst:.1e} apart")
    if not worst <= ROUNDING.get(model.name, 1e-4):
        failures.append(model.name)
if failures:
    print(f"{', '.join(failures)}: another result", file=sys.stderr)
sys.exit(1 if failures else 0)
