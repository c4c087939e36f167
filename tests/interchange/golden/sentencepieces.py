"""SentencePiece models, and the families that look their pieces up in a vocab.json: MarianMT and M2M-100."""

import json
import struct

import files
from vocabularies import pieces, scored, write_settings


def varint(value):
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    return bytes(octets + bytes([value]))


def field(number, value):
    """A field of a protocol buffer: whole numbers as varints, floats as 32 bits, all else by its length."""
    if isinstance(value, bool) or isinstance(value, int):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def write_sentencepiece(path, entries, kind=1):
    """A SentencePiece model: `entries` are (piece, score, type), `kind` 1 for unigram and 2 for BPE.

    Types are 1 for a piece, 2 for unknown, 3 for control. Texts are not normalized; spaces are marked, one is put in
    front, several become one.
    """
    body = b"".join(field(1, field(1, piece) + field(2, float(score)) + (field(3, type) if type != 1 else b""))
                    for piece, score, type in entries)
    trainer = field(3, kind) + field(4, len(entries))
    unknown = next(i for i, entry in enumerate(entries) if entry[2] == 2)
    ids = {entry[0]: i for i, entry in enumerate(entries)}
    trainer += field(40, unknown)
    for number, name in ((41, "<s>"), (42, "</s>"), (43, "<pad>")):
        # -1 as a varint has ten bytes: the token does not exist.
        trainer += field(number, ids[name]) if name in ids else varint(number << 3) + b"\xff" * 9 + b"\x01"
    normalizer = field(1, "identity") + field(3, True) + field(4, True) + field(5, True)
    path.write_bytes(body + field(2, trainer) + field(3, normalizer))


def marked(text):
    """SentencePiece's form of a text: one mark for each run of spaces, and one in front."""
    return "\u2581" + "\u2581".join(text.split())


def best_pieces(scores, text):
    """The pieces with the largest sum of scores; a character that no piece begins with costs ten more than any."""
    unknown = min(scores.values()) - 10
    best = [(0.0, [])]
    for end in range(1, len(text) + 1):
        ways = [(best[start][0] + scores[text[start:end]], best[start][1] + [text[start:end]])
                for start in range(end) if text[start:end] in scores]
        ways = ways or [(best[end - 1][0] + unknown, best[end - 1][1] + [text[end - 1]])]
        best.append(max(ways, key=lambda way: way[0]))
    return best[-1][1]


def merged_pieces(scores, text):
    """Two neighbours are joined as long as they make a piece, the one of the best score first, then the leftmost."""
    parts = list(text)
    while True:
        joined = [(-scores[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in scores]
        if not joined:
            return parts
        i = min(joined)[1]
        parts[i:i + 2] = [parts[i] + parts[i + 1]]


def write_texts(folder, pieces_of, ids, first, codes=()):
    """What the family's tokenizer makes of texts: ids by its vocabulary, framed; >>code<< is one token."""
    result = []
    for text in ("the cat is on it, and no dogs.", " The  ending and the inn", "on it",
                 "the end", "a sea", "no one", "in the inn", *codes):
        code, _, rest = text.rpartition("<< ")
        found = [code + "<<"] * bool(code) + pieces_of(marked(rest if code else text))
        # Neighbouring unknown characters are one unknown piece.
        numbers = [ids.get(piece, ids["<unk>"]) for piece in found]
        numbers = [n for i, n in enumerate(numbers) if n != ids["<unk>"] or i == 0 or numbers[i - 1] != n]
        result.append({"text": text, "ids": first + numbers + [ids["</s>"]]})
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in result)
    (folder / "texts.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def marian(folder, config):
    """vocab.json with the ids, and two SentencePiece models whose own ids nobody uses; pad is the last token."""
    def vocabulary(rows, extra):
        tokens, _ = pieces(rows, ["</s>", "<unk>"], ["<pad>"], "\u2581", extra)
        return {token: id for id, token in enumerate(tokens)}

    def spm(name, ids):
        # Another order than vocab.json's: only a look-up by piece gives the right ids.
        own = [(token, score, 1) for token, score in reversed(scored(list(ids))) if not token.startswith("<")
               and not token.startswith(">>")]
        write_sentencepiece(folder / name, [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)] + own)

    shared = config["share_encoder_decoder_embeddings"]
    source = vocabulary(config["vocab_size"], [".", ",", ">>deu<<"])
    target = source if shared else vocabulary(config["decoder_vocab_size"], [".", ",", "1", "2", "3"])
    files.write_json(folder / "vocab.json", source)
    if not shared:
        files.write_json(folder / "target_vocab.json", target)
    scores = {token: score for token, score in scored(list(source)) if not token.startswith(("<", ">>"))}
    write_texts(folder, lambda text: best_pieces(scores, text), source, [], [">>deu<< the inn"])
    spm("source.spm", source)
    spm("target.spm", target)
    specials = [("</s>", source["</s>"], None), ("<unk>", source["<unk>"], None), ("<pad>", source["<pad>"], None)]
    write_settings(folder, "MarianTokenizer", specials,
                   {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}, source_lang="en",
                   target_lang="de", separate_vocabs=not shared, sp_model_kwargs={}, model_max_length=512)


def m2m_100(folder, config):
    """vocab.json without the languages, whose ids follow it, and a SentencePiece model; no tokenizer.json."""
    languages = ["de", "en", "fr"]
    # Rows that no token has: the original counts "madeup words" to a multiple of eight.
    tokens, _ = pieces(config["vocab_size"] - 8 - len(languages), ["<s>", "<pad>", "</s>", "<unk>"], [], "\u2581",
                       [".", ","])
    ids = {token: id for id, token in enumerate(tokens)}
    files.write_json(folder / "vocab.json", ids)
    own = [(token, score, 1) for token, score in reversed(scored(tokens)) if not token.startswith("<")]
    control = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    write_sentencepiece(folder / "sentencepiece.bpe.model", control + own, kind=2)
    scores = {token: score for token, score, _ in own}
    codes = [f"__{language}__" for language in languages]
    write_texts(folder, lambda text: merged_pieces(scores, text), ids, [len(tokens) + languages.index("en")])
    specials = [(token, ids[token], None) for token in tokens[:4]]
    specials += [(code, len(tokens) + i, None) for i, code in enumerate(codes)]
    write_settings(folder, "M2M100Tokenizer", specials,
                   {"additional_special_tokens": codes, "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
                    "sep_token": "</s>", "unk_token": "<unk>"},
                   language_codes="m2m100", num_madeup_words=8, sp_model_kwargs={}, src_lang=None, tgt_lang=None,
                   model_max_length=512)
