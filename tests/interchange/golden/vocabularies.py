"""Small tokenizers of each kind, in the files that the original library saves: tokenizer.json and what is beside it.

A vocabulary fills the model's up to `rows` tokens: special ones, characters, and pieces made of them by merges.
"""

import files

LETTERS = list("etaoinshrdlucmfwygpbvkxjqz")
# In the order of their ranks; _ stands for the kind's mark of a space.
MERGES = [("_", "t"), ("h", "e"), ("_", "a"), ("i", "n"), ("_t", "he"), ("e", "r"), ("o", "n"), ("r", "e"), ("_", "s"),
          ("a", "t"), ("e", "n"), ("_", "w"), ("n", "d"), ("_a", "nd"), ("o", "u"), ("in", "g"), ("_", "c"), ("e", "s"),
          ("o", "r"), ("_", "b"), ("e", "d"), ("_", "f"), ("_", "p"), ("a", "n"), ("i", "s"), ("_", "m"), ("a", "l")]


def added(id, content, special=True, **more):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": special, **more}


def write_tokenizer(folder, specials, model, *, normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None):
    files.write_json(folder / "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(id, token, **(more or {})) for token, id, more in sorted(specials, key=lambda s: s[1])],
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": decoder,
        "model": model})


def write_settings(folder, kind, specials, roles, **more):
    decoders = {str(id): {key: value for key, value in added(id, token, **(extra or {})).items() if key != "id"}
                for token, id, extra in sorted(specials, key=lambda s: s[1])}
    files.write_json(folder / "tokenizer_config.json",
                     {"added_tokens_decoder": decoders, "clean_up_tokenization_spaces": False, **roles, **more,
                      "tokenizer_class": kind}, sort_keys=True)
    files.write_json(folder / "special_tokens_map.json", roles)


def pieces(rows, first, last, space, extra=()):
    """The tokens in the order of their ids, and the merges that make those of more than one character."""
    tokens = list(first) + list(extra) + [space] + LETTERS
    merges = []
    for a, b in MERGES:
        if len(tokens) + len(last) == rows:
            break
        a, b = a.replace("_", space), b.replace("_", space)
        merges.append((a, b))
        tokens.append(a + b)
    tokens += list(last)
    assert len(tokens) <= rows and len(set(tokens)) == len(tokens), (len(tokens), rows)
    return tokens, merges


def template(single, pair, ids):
    """Special tokens by name, A and B for the texts; a token's type follows the text before it, B:1's are 1."""
    def parts(form):
        result, kind = [], 0
        for part in form.split():
            name, _, number = part.partition(":")
            kind = int(number or 0)
            result.append({"Sequence": {"id": name, "type_id": kind}} if name in ("A", "B")
                          else {"SpecialToken": {"id": name, "type_id": kind}})
        return result

    names = {part.partition(":")[0] for part in (single + " " + pair).split()} - {"A", "B"}
    return {"type": "TemplateProcessing", "single": parts(single), "pair": parts(pair),
            "special_tokens": {n: {"id": n, "ids": [ids[n]], "tokens": [n]} for n in sorted(names)}}


def bpe_model(tokens, merges, **more):
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, **more,
            "vocab": {token: id for id, token in enumerate(tokens)}, "merges": [f"{a} {b}" for a, b in merges]}


GPT2_PIECES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def split_pieces(digits):
    """Llama 3's and Qwen 2's words: `digits` says how many numerals stay together."""
    pattern = CONTRACTIONS + "|" + REST.replace("DIGITS", digits)
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}


def byte_level(form):
    """Byte-level BPE in the form of "gpt2", "llama3", "qwen2", "roberta", "neox" or "opt"."""
    def write(folder, config):
        rows = config["vocab_size"]
        first, last = {
            "gpt2": ([], ["<|endoftext|>"]),
            "llama3": ([], ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]),
            "qwen2": ([], ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]),
            "neox": (["<|endoftext|>", "<|padding|>"], []),
            "opt": (["<s>", "<pad>", "</s>", "<unk>"], []),
            "roberta": (["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"]),
        }[form]
        tokens, merges = pieces(rows - (2 if form == "qwen2" else 0), first, last, "\u0120",
                                [".", ",", "'", "\u010a", "1", "2"])
        ids = {token: id for id, token in enumerate(tokens)}
        specials = [(t, ids[t], {"lstrip": True} if t == "<mask>" else None) for t in first + last]
        pre, post, normalizer, more = GPT2_PIECES, {**GPT2_PIECES, "trim_offsets": False}, None, {}
        if form == "llama3":
            pre, more = split_pieces("{1,3}"), {"ignore_merges": True}
            begin = last[0]
            post = {"type": "Sequence", "processors": [{**post, "trim_offsets": False},
                                                       template(f"{begin} A", f"{begin} A {begin}:1 B:1", ids)]}
        elif form == "qwen2":
            pre, normalizer = split_pieces(""), {"type": "NFC"}
        elif form == "opt":
            post = template("</s> A", "</s> A </s> B:1", ids)
        elif form == "roberta":
            post = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True,
                    "add_prefix_space": False}
        write_tokenizer(folder, specials, bpe_model(tokens, merges, **more), normalizer=normalizer, pre_tokenizer=pre,
                        post_processor=post, decoder={**GPT2_PIECES, "add_prefix_space": True})
        roles = {
            "gpt2": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"},
            "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
            "qwen2": {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"},
            "neox": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"},
            "opt": {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"},
            "roberta": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>",
                        "pad_token": "<pad>", "cls_token": "<s>", "mask_token": "<mask>"},
        }[form]
        kind = {"gpt2": "GPT2Tokenizer", "llama3": "PreTrainedTokenizerFast", "qwen2": "Qwen2Tokenizer",
                "neox": "GPTNeoXTokenizer", "opt": "GPT2Tokenizer", "roberta": "RobertaTokenizer"}[form]
        if config["model_type"] == "bart":
            kind = "BartTokenizer"
        write_settings(folder, kind, specials, roles, model_max_length=512)
        if form in ("gpt2", "qwen2", "opt", "roberta"):
            files.write_json(folder / "vocab.json", ids)
            lines = "".join(f"{a} {b}\n" for a, b in merges)
            (folder / "merges.txt").write_text("#version: 0.2\n" + lines, encoding="utf-8")
    return write


def byte_token(byte):
    return f"<0x{byte:02X}>"


def sentencepiece_bpe(form):
    """Llama 2's and Mistral's BPE over SentencePiece's pieces ("llama2"), or Gemma's ("gemma")."""
    def write(folder, config):
        # The few byte tokens spell a line's end and é; any other character that is not a token has no spelling.
        octets = [byte_token(b) for b in (0x0A, 0xC3, 0xA9)]
        first = ["<unk>", "<s>", "</s>"] if form == "llama2" else ["<pad>", "<eos>", "<bos>", "<unk>"]
        tokens, merges = pieces(config["vocab_size"], first, [], "\u2581", octets + [".", ","])
        ids = {token: id for id, token in enumerate(tokens)}
        specials = [(token, ids[token], None) for token in first]
        model = bpe_model(tokens, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
        replace = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
        back = [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
                {"type": "Fuse"}]
        if form == "llama2":
            normalizer = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, replace]}
            back.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
            begin, pre = "<s>", None
            roles = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        else:
            normalizer, begin = replace, "<bos>"
            pre = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
            model["merges"] = [list(pair) for pair in merges]
            roles = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"}
        write_tokenizer(folder, specials, model, normalizer=normalizer, pre_tokenizer=pre,
                        post_processor=template(f"{begin} A", f"{begin} A {begin}:1 B:1", ids),
                        decoder={"type": "Sequence", "decoders": back})
        write_settings(folder, "LlamaTokenizer" if form == "llama2" else "GemmaTokenizer", specials, roles,
                       add_bos_token=True, add_eos_token=False, model_max_length=512)
    return write


def wordpiece(folder, config, lowercase=True):
    """BERT's: whole words, and pieces that continue one after ##."""
    first = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = first + [".", ",", "'", "1"] + LETTERS[:15] + ["##" + letter for letter in LETTERS[:15]]
    words = ["the", "and", "##ing", "##ed", "##er", "cat", "a1", "in", "on", "##ou", "dogs", "##at", "no", "is", "it",
             "to", "he", "or", "##es", "##s1", "as", "at", "an", "so", "do", "us", "un", "re", "##us", "##un"]
    tokens = list(dict.fromkeys(tokens + words))[:config["vocab_size"]]
    ids = {token: id for id, token in enumerate(tokens)}
    specials = [(token, ids[token], None) for token in first]
    write_tokenizer(
        folder, specials,
        {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
         "vocab": ids},
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                    "lowercase": lowercase},
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor=template("[CLS] A [SEP]", "[CLS] A [SEP] B:1 [SEP]:1", ids),
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})
    roles = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]",
             "mask_token": "[MASK]"}
    kind = {"bert": "BertTokenizer", "distilbert": "DistilBertTokenizer", "electra": "ElectraTokenizer"}
    write_settings(folder, kind[config["model_type"]], specials, roles, do_lower_case=lowercase, strip_accents=None,
                   tokenize_chinese_chars=True, model_max_length=512)
    (folder / "vocab.txt").write_text("".join(token + "\n" for token in tokens), encoding="utf-8")


def scored(tokens):
    """Log-probabilities that fall with the rank, and more slowly for longer pieces."""
    return [[token, 0.0 if token.startswith("<") else round(-2.5 - 0.07 * i + 1.3 * (len(token) - 1), 4)]
            for i, token in enumerate(tokens)]


METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}


def unigram(form):
    """SentencePiece's unigram pieces in the form of "t5", "xlm-roberta", "albert" or "mbart" (with languages)."""
    def write(folder, config):
        rows = config["vocab_size"]
        first, last = {
            "t5": (["<pad>", "</s>", "<unk>"], ["<extra_id_1>", "<extra_id_0>"]),
            "xlm-roberta": (["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"]),
            "albert": (["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], []),
            "mbart": (["<s>", "<pad>", "</s>", "<unk>"], ["ar_AR", "de_DE", "en_XX", "fr_XX", "<mask>"]),
        }[form]
        tokens, _ = pieces(rows - (4 if form == "t5" else 0), first, last, "\u2581", [".", ","])
        ids = {token: id for id, token in enumerate(tokens)}
        specials = [(token, ids[token], {"lstrip": True} if "mask" in token.lower() else None)
                    for token in first + last]
        post = {
            "t5": lambda: template("A </s>", "A </s> B </s>", ids),
            "xlm-roberta": lambda: template("<s> A </s>", "<s> A </s> </s> B </s>", ids),
            "albert": lambda: template("[CLS] A [SEP]", "[CLS] A [SEP] B:1 [SEP]:1", ids),
            "mbart": lambda: template("en_XX A </s>", "en_XX A B </s>", ids),
        }[form]()
        forms = [{"type": "NFKC"}]
        if form == "albert":
            forms = [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]
        entries = scored(tokens)
        for entry in entries:
            if entry[0] in first + last:
                entry[1] = 0.0
        write_tokenizer(folder, specials,
                        {"type": "Unigram", "unk_id": ids["<unk>"], "vocab": entries, "byte_fallback": False},
                        normalizer={"type": "Sequence", "normalizers": forms + [
                            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
                        pre_tokenizer=METASPACE, post_processor=post, decoder=METASPACE)
        roles = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
        more = {"model_max_length": 512}
        if form == "t5":
            more["extra_ids"] = 2
        elif form == "albert":
            roles = {"bos_token": "[CLS]", "eos_token": "[SEP]", "unk_token": "<unk>", "sep_token": "[SEP]",
                     "pad_token": "<pad>", "cls_token": "[CLS]", "mask_token": "[MASK]"}
            more.update(do_lower_case=True, keep_accents=False, remove_space=True)
        else:
            roles.update(bos_token="<s>", sep_token="</s>", cls_token="<s>", mask_token="<mask>")
        if form == "mbart":
            more.update(src_lang="en_XX", tgt_lang=None)
        kind = {"t5": "T5Tokenizer", "xlm-roberta": "XLMRobertaTokenizer", "albert": "AlbertTokenizer",
                "mbart": "MBart50Tokenizer"}[form]
        write_settings(folder, kind, specials, roles, **more)
    return write


def nllb(folder, config):
    """BPE over SentencePiece's pieces, the languages behind them; a text is `language tokens </s>`."""
    languages = ["deu_Latn", "eng_Latn", "fra_Latn"]
    tokens, merges = pieces(config["vocab_size"], ["<s>", "<pad>", "</s>", "<unk>"], [*languages, "<mask>"], "\u2581",
                            [".", ","])
    ids = {token: id for id, token in enumerate(tokens)}
    specials = [(token, ids[token], {"lstrip": True} if token == "<mask>" else None)
                for token in tokens[:4] + tokens[-4:]]
    mark = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    write_tokenizer(folder, specials, bpe_model(tokens, merges, unk_token="<unk>", fuse_unk=True),
                    normalizer={"type": "NFKC"}, pre_tokenizer=mark, decoder=mark,
                    post_processor=template("eng_Latn A </s>", "eng_Latn A B </s>", ids))
    write_settings(folder, "NllbTokenizer", specials,
                   {"additional_special_tokens": languages, "bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>",
                    "mask_token": "<mask>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>"},
                   legacy_behaviour=False, src_lang="eng_Latn", tgt_lang=None, model_max_length=512)


def mpnet(folder, config):
    """WordPiece with RoBERTa's special tokens in front and [UNK] among the words."""
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    tokens = first + ["[UNK]", ".", ",", "1"] + LETTERS[:18] + ["##" + letter for letter in LETTERS[:18]]
    tokens += ["the", "and", "##ing", "cat", "##ed", "on", "is", "it", "no", "at"]
    tokens = tokens[:config["vocab_size"] - 1] + ["<mask>"]
    ids = {token: id for id, token in enumerate(tokens)}
    specials = [(token, ids[token], {"lstrip": True} if token == "<mask>" else None) for token in [*first, "<mask>"]]
    write_tokenizer(
        folder, specials,
        {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
         "vocab": ids},
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                    "lowercase": True},
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True,
                        "add_prefix_space": False},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})
    roles = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "[UNK]", "sep_token": "</s>", "pad_token": "<pad>",
             "cls_token": "<s>", "mask_token": "<mask>"}
    write_settings(folder, "MPNetTokenizer", specials, roles, do_lower_case=True, model_max_length=512)
    (folder / "vocab.txt").write_text("".join(token + "\n" for token in tokens), encoding="utf-8")
