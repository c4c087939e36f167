"""Models of sentence-transformers around those of the encoders."""

import shutil

import torch
import transformers as tf
from corpus import MODEL_TEXTS, TEXTS
from exact import Exact
from log import last_line, note
from models import golden_text
from running import rounded


def sentence_modules():
    import sentence_transformers as st
    try:
        from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
    except Exception:
        from sentence_transformers.base.modules.dense import Dense
        from sentence_transformers.base.modules.transformer import Transformer
        from sentence_transformers.sentence_transformer.modules.normalize import Normalize
        from sentence_transformers.sentence_transformer.modules.pooling import Pooling
    return st, Transformer, Pooling, Dense, Normalize


def sentence(name, source, out, pooling, prompts, with_dense, normalized=True):
    st, Transformer, Pooling, Dense, Normalize = sentence_modules()
    first = Transformer(str(out / "encoders" / source), max_seq_length=24)
    try:
        pool = Pooling(16, pooling_mode=pooling)
    except Exception:
        pool = Pooling(embedding_dimension=16, pooling_mode=pooling)
    modules = [first, pool]
    if with_dense:
        torch.manual_seed(7)
        modules.append(Dense(16, 10, activation_function=torch.nn.Tanh()))
    if normalized:
        modules.append(Normalize())
    try:
        model = st.SentenceTransformer(modules=modules, device="cpu", prompts=prompts)
    except Exception as error:
        note(f"  {name}: {last_line(error)}; without prompts")
        model = st.SentenceTransformer(modules=modules, device="cpu")
    folder = out / "encoders" / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save(str(folder))
    model = st.SentenceTransformer(str(folder), device="cpu", local_files_only=True).double().eval()
    result = {"model": "SentenceTransformer", "kind": "sentence-transformer", "tolerance": {"f64": 2e-6, "f32": 1e-4},
              "versions": {"sentence-transformers": st.__version__, "transformers": tf.__version__}, "texts": []}
    texts = [TEXTS[0], TEXTS[1], TEXTS[2], TEXTS[3], MODEL_TEXTS[0], MODEL_TEXTS[0] + " " + MODEL_TEXTS[1]]
    for prompt in [None, *prompts]:
        for text in texts:
            with Exact():
                vector = model.encode([text], prompt_name=prompt, convert_to_numpy=True, show_progress_bar=False)[0]
            entry = {"text": text, "embedding": rounded([float(v) for v in vector])}
            if prompt:
                entry["prompt"] = prompt
            result["texts"].append(entry)
    result["type"] = str(vector.dtype)
    (folder / "golden.json").write_text(golden_text(result), encoding="utf-8")
    note(f"encoders/{name}: {[type(m).__name__ for m in model]}, {vector.dtype}")
