// The files that models had before tokenizer.json, as a tokenizer.json: what Hugging Face's conversion makes of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/huggingface/huggingface_tokenizer.h"
#include "text/sentencepiece/sentencepiece_model.h"

namespace heed::huggingface {

// What stands around texts.
enum class TextFrame : uint8_t {
  none,          // a
  bert,          // [CLS] a [SEP] b [SEP], types 0 and 1
  roberta,       // <s> a </s></s> b </s>
  end,           // a </s> b </s>
  begin,         // <s> a <s> b
  language_end,  // a </s> en_XX
  language,      // en_XX a </s>
};

// vocab.txt of BERT and its kin: a token a line.
struct BertFile {
  std::string_view vocabulary;
  bool lower_case = true, chinese_characters = true;  // do_lower_case, tokenize_chinese_chars
  std::optional<bool> strip_accents;                  // absent: as lower_case
  TextFrame frame = TextFrame::bert;
  SpecialNames names = {.unk = "[UNK]", .pad = "[PAD]", .sep = "[SEP]", .cls = "[CLS]", .mask = "[MASK]"};
};
std::string tokenizer_json_of(const BertFile& file, std::string_view where);

enum class Composed : uint8_t { no, yes };

// vocab.json and merges.txt of GPT-2 (no frame) and RoBERTa.
struct ByteLevelFiles {
  std::string_view vocabulary, merges;
  bool prefix_space = false;         // add_prefix_space
  Composed composed = Composed::no;  // in normal form C first
  TextFrame frame = TextFrame::none;
  SpecialNames names = {.bos = "<|endoftext|>", .eos = "<|endoftext|>", .unk = "<|endoftext|>"};
};
std::string tokenizer_json_of(const ByteLevelFiles& files, std::string_view where);

// A SentencePiece model, of which families number the pieces in their own ways.
struct SentencePieceFile {
  enum class Numbers : uint8_t {
    own,      // T5, Llama, Gemma: the model's
    fairseq,  // XLM-R, mBART, NLLB: <s> <pad> </s> <unk>, then the model's pieces from the fourth on
    listed,   // Marian, M2M100: those of a vocab.json
    pegasus,  // <pad> </s>, two masks, 101 unknown ones, then the model's pieces from the third on
  };
  // own: SentencePiece's normalization and white space. llama: a space before the text, and before what follows a
  // special token. llama_once: before the text alone, and none where it begins with one. gemma: nothing.
  enum class Spaces : uint8_t { own, llama, llama_once, gemma };

  std::string_view model;
  std::string_view vocabulary;  // vocab.json, where listed
  Numbers numbers = Numbers::own;
  Spaces spaces = Spaces::own;
  TextFrame frame = TextFrame::none;
  bool joins_symbols = false;          // neighbours also into pieces of other types, except control
  std::string language = {};           // the token of a frame that has one
  std::vector<std::string> more = {};  // special tokens after the last id: languages, <mask>, <extra_id_99> ...
  SpecialNames names = {.bos = "<s>", .eos = "</s>", .unk = "<unk>", .pad = "<pad>"};
};
std::string tokenizer_json_of(const SentencePieceFile& file, std::string_view where);
// The same for a model that was read already, from any kind of file.
std::string tokenizer_json_of(const SentencePieceFile& file, const SentencePieceModel& model, std::string_view where);

// Tokens of bytes in the order of their ids, with the merges that make them: GPT-2's kind, with other expressions.
struct ByteLevelTokens {
  std::vector<SentencePieceModel::Piece> tokens;
  std::vector<std::string> merges;       // "a b"
  std::vector<std::string> expressions;  // cut a text one after the other; what one does not match is a piece, too
  bool ignore_merges = false;            // a piece that is a token is that token, whatever its merges say
  TextFrame frame = TextFrame::none;
  SpecialNames names = {};
};
std::string tokenizer_json_of(const ByteLevelTokens& tokens, std::string_view where);

// Tokens that stand between spaces in texts, in the order of their ids: what another program cuts beforehand.
struct SpacedTokens {
  std::span<const std::string> tokens;
  TextFrame frame = TextFrame::none;
  SpecialNames names = {.bos = "<s>", .eos = "</s>", .unk = "<unk>"};
};
std::string tokenizer_json_of(const SpacedTokens& tokens, std::string_view where);

// Codes that subword-nmt (version 0.2) or fastBPE learned, and the tokens that they cut words into, in the order of their
// ids: "w@@" where the word goes on, "w" at its end. What merging makes on the way, and is no token, has an id from
// `rows` on: the tokenizer has merge steps.
struct SubwordCodes {
  std::string_view codes;
  std::span<const std::string> tokens;
  int64_t rows;
  SpecialNames names = {.bos = "<s>", .eos = "</s>", .unk = "<unk>"};
};
std::string tokenizer_json_of(const SubwordCodes& codes, std::string_view where);

}  // namespace heed::huggingface
