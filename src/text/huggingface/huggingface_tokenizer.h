// Tokenizers of Hugging Face's format, tokenizer.json: the same tokens, offsets and texts as from its own library
// ("tokenizers", 0.23).
//
//   text -> added tokens of raw text cut out -> normalizer -> added tokens of normalized text cut out -> pre-tokenizer
//        -> model -> post-processor
//
// What it knows about characters is said in characters/characters.h. A file's truncation and padding are not applied:
// what calls a tokenizer decides on lengths.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/huggingface/encoding.h"
#include "text/tokenizer.h"

namespace heed {

// The texts of a model's special tokens, as tokenizer_config.json and special_tokens_map.json name them; empty where
// they name none.
struct SpecialNames {
  std::string bos = {}, eos = {}, unk = {}, pad = {}, sep = {}, cls = {}, mask = {};

  bool operator==(const SpecialNames&) const = default;
};

// From the text of one of these files; keys that it lacks stay as they are. FormatError names `where`.
void read_special_names(std::string_view json, std::string_view where, SpecialNames& names);

class HuggingFaceTokenizer : public Tokenizer {
 public:
  using Encoding = huggingface::Encoding;
  using EncodeOptions = huggingface::EncodeOptions;

  // As the library encodes. FormatError where a text is not UTF-8, or needs an unknown token that the model lacks.
  virtual Encoding encode_text(std::string_view text, const EncodeOptions& options) const = 0;
  virtual Encoding encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const = 0;

  // How the file spells a token, and the token that it spells so.
  virtual std::string token_text(TokenId token) const = 0;
  virtual std::optional<TokenId> token_of(std::string_view text) const = 0;
  virtual bool is_special(TokenId token) const = 0;  // decode() skips it
  virtual bool has_merge_steps() const = 0;          // see TokenizerUse

  // What of the file is not applied, or contradicts itself; each a sentence.
  virtual const std::vector<std::string>& notes() const = 0;

 protected:
  using Tokenizer::Tokenizer;
};

// Whether a file is one: a JSON object with a model.
bool is_huggingface_tokenizer(std::string_view content);

// What a model says about its tokenizer's file.
struct TokenizerUse {
  SpecialNames names = {};
  int64_t rows = 0;  // of the model's tables: tokens behind the file's last one are never text; 0: as many as the file
  // The file's tokens from `rows` on are only steps of merging: what becomes one of them is the unknown token.
  bool has_merge_steps = false;

  bool operator==(const TokenizerUse&) const = default;
};

// special() follows the names where they are given; else the frame, the model's unknown token and the usual names among
// the special tokens. serialize() keeps the use, as a member of the file. FormatError names `where` and the key; also
// for more tokens than rows.
std::unique_ptr<HuggingFaceTokenizer> parse_huggingface_tokenizer(std::string content, std::string_view where,
                                                                  const TokenizerUse& use = {});

}  // namespace heed
