"""What sentence-transformers saves around a model: its modules in order, and each one's settings in a folder."""

import files


def write_pipeline(folder, width, pooling, tensors, dense=None, normalized=True, max_length=24, prompts=None):
    """`dense` is (name of its folder, outputs); `tensors` are its own, by their names in its file."""
    kinds = ["Transformer", "Pooling"] + ["Dense"] * bool(dense) + ["Normalize"] * normalized
    paths = ["" if kind == "Transformer" else f"{i}_{kind}" for i, kind in enumerate(kinds)]
    files.write_json(folder / "modules.json", [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths))])
    files.write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})
    files.write_json(folder / "config_sentence_transformers.json", {
        "__version__": {"sentence_transformers": "3.4.1", "transformers": "4.49.0", "pytorch": "2.6.0"},
        "prompts": prompts or {}, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    (folder / "1_Pooling").mkdir()
    files.write_json(folder / "1_Pooling" / "config.json", {
        "word_embedding_dimension": width, "pooling_mode_cls_token": pooling == "cls",
        "pooling_mode_mean_tokens": pooling == "mean", "pooling_mode_max_tokens": pooling == "max",
        "pooling_mode_mean_sqrt_len_tokens": False, "pooling_mode_weightedmean_tokens": False,
        "pooling_mode_lasttoken": False, "include_prompt": True})
    if dense:
        name, outputs = dense
        (folder / name).mkdir()
        files.write_json(folder / name / "config.json", {
            "in_features": width, "out_features": outputs, "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh"})
        files.write_safetensors(folder / name / "model.safetensors", tensors)
