// The models of a tokenizer.json: they make tokens of a piece of text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/types/tokenizer.h"
#include "text/huggingface/encoding.h"
#include "text/huggingface/json.h"
#include "text/huggingface/models/token_table.h"

namespace heed::huggingface {

// A token and the bytes of its piece that it stands for.
struct ModelToken {
  int32_t id;
  uint32_t begin, end;
};

// What a thread keeps between calls of tokenize(): room, and the tokens of words that it has seen. For one model.
class ModelState {
 public:
  virtual ~ModelState() = default;
  ModelState(const ModelState&) = delete;
  ModelState& operator=(const ModelState&) = delete;

 protected:
  ModelState() = default;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;

  virtual TokenizerKind kind() const = 0;
  virtual std::unique_ptr<ModelState> make_state() const = 0;
  // Appends the tokens of a piece that is not empty. FormatError when the piece needs an unknown token and there is
  // none.
  virtual void tokenize(std::string_view piece, SpecialText special, ModelState& state,
                        std::vector<ModelToken>& tokens) const = 0;

  // What the vocabulary holds: ids may have holes.
  const std::vector<std::pair<std::string, int32_t>>& vocabulary() const { return vocabulary_; }
  int32_t find(std::string_view text) const { return ids_.find(text); }
  int32_t unknown() const { return unknown_; }  // TokenTable::kNone if there is none

  // Whether it can take text as the bytes that it stands for in the byte-level alphabet, and does from now on.
  virtual bool can_take_bytes() const { return false; }
  virtual void take_bytes() {}
  // Ids that text must not become where it is taken literally.
  virtual void set_special(std::vector<bool> special) { special_ = std::move(special); }

 protected:
  TokenModel() = default;
  // From {"text": id, ...}.
  void read_vocabulary(const JsonValue& json);
  void add_token(std::string text, int32_t id);
  bool is_special(int32_t id) const {
    return static_cast<size_t>(id) < special_.size() && special_[static_cast<size_t>(id)];
  }

  int32_t unknown_ = TokenTable::kNone;
  std::vector<std::pair<std::string, int32_t>> vocabulary_;
  TokenTable ids_;

 private:
  std::vector<bool> special_;
};

using TokenModelPtr = std::unique_ptr<TokenModel>;

// From the value of "model"; FormatError for unknown types, and for settings that contradict each other.
TokenModelPtr read_model(const JsonValue& json);

TokenModelPtr make_bpe(const JsonValue& json);
TokenModelPtr make_wordpiece(const JsonValue& json);
TokenModelPtr make_word_level(const JsonValue& json);
TokenModelPtr make_unigram(const JsonValue& json);

// Ids are at most this.
inline constexpr int64_t kMaxTokenId = (1 << 24) - 1;

// The ids of <0x00> to <0xFF>.
std::vector<int32_t> byte_tokens(const TokenTable& ids);

}  // namespace heed::huggingface
