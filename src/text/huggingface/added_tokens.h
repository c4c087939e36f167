// Tokens that are cut out of a text before anything else happens to it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/huggingface/encoding.h"
#include "text/huggingface/json.h"
#include "text/huggingface/models/byte_trie.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/normalizers/normalizer.h"

namespace heed::huggingface {

struct AddedToken {
  std::string text;
  std::string found;  // the text that is looked for: normalized ones are looked for in normalized text
  bool single_word = false, strips_left = false, strips_right = false, normalized = false, special = false;
};

// A part of a text; an added token, or (kNone) what lies between.
struct AddedMatch {
  uint32_t begin, end;
  int32_t token;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // From the value of "added_tokens". The model's vocabulary decides on ids, whatever the file says; what it lacks gets
  // the next ids. Notes say where a file differs.
  AddedTokens(const JsonValue& json, const TokenModel& model, const Normalizer* normalizer,
              std::vector<std::string>& notes);

  const std::map<int32_t, AddedToken>& tokens() const { return tokens_; }
  bool is_special(std::string_view text) const { return specials_.contains(std::string(text)); }
  const AddedToken* find(int32_t id) const;

  bool any_raw() const { return !raw_.empty(); }
  bool any_normalized() const { return !normalized_.empty(); }
  // Cuts a text at its tokens, those of raw or of normalized text, and appends the parts.
  void cut_raw(std::string_view text, const SpecialRule& special, std::vector<AddedMatch>& parts) const {
    raw_.cut(*this, text, special, parts);
  }
  void cut_normalized(std::string_view text, const SpecialRule& special, std::vector<AddedMatch>& parts) const {
    normalized_.cut(*this, text, special, parts);
  }

 private:
  // Finds the leftmost, longest tokens.
  class Finder {
   public:
    Finder() = default;
    explicit Finder(std::vector<std::pair<std::string_view, int32_t>> texts);

    bool empty() const { return empty_; }
    void cut(const AddedTokens& added, std::string_view text, const SpecialRule& special,
             std::vector<AddedMatch>& parts) const;

   private:
    bool match(std::string_view text, size_t& at, size_t& end, int32_t& token) const;

    ByteTrie trie_;
    bool empty_ = true;
  };

  void add(AddedToken token, int32_t id) { tokens_[id] = std::move(token); }

  std::map<int32_t, AddedToken> tokens_;
  std::unordered_set<std::string> specials_;
  Finder raw_, normalized_;
};

}  // namespace heed::huggingface
