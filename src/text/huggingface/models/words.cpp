// The models that look words up: WordPiece, which takes the longest token that a word begins with, then the longest that
// continues it, and so on; and WordLevel, which knows whole words.
#include "base/errors.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/models/byte_trie.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/models/word_cache.h"

namespace heed::huggingface {
namespace {

struct WordState final : ModelState {
  WordCache cache;
};

class WordModel : public TokenModel {
 public:
  explicit WordModel(const JsonValue& json) : unknown_text_(json.at("unk_token").text()), where_(json.where()) {
    read_vocabulary(json.at("vocab"));
    unknown_ = find(unknown_text_);
  }

  std::unique_ptr<ModelState> make_state() const override { return std::make_unique<WordState>(); }

  void tokenize(std::string_view piece, SpecialText special, ModelState& state,
                std::vector<ModelToken>& tokens) const override {
    const bool is_short = piece.size() <= WordCache::kLongestWord && special == SpecialText::literal;
    WordCache& cache = static_cast<WordState&>(state).cache;
    const uint64_t hash = is_short ? hash_bytes(piece) : 0;
    if (is_short && cache.find(piece, hash, tokens)) {
      return;
    }
    const size_t first = tokens.size();
    if (!append_tokens(piece, special, tokens)) {
      tokens.resize(first);
      require<FormatError>(unknown_ != TokenTable::kNone, where_,
                           "the text has an unknown word, and the unknown token '{}' is not in the vocabulary",
                           unknown_text_);
      tokens.push_back({unknown_, 0, static_cast<uint32_t>(piece.size())});
    }
    if (is_short) {
      cache.keep(piece, hash, tokens, first);
    }
  }

 protected:
  bool is_allowed(int32_t id, SpecialText special) const {
    return id != TokenTable::kNone && !(special == SpecialText::literal && is_special(id));
  }

 private:
  // False for a word that is unknown.
  virtual bool append_tokens(std::string_view word, SpecialText special, std::vector<ModelToken>& tokens) const = 0;

  std::string unknown_text_, where_;
};

class WordLevel final : public WordModel {
 public:
  using WordModel::WordModel;
  TokenizerKind kind() const override { return TokenizerKind::word; }

 private:
  bool append_tokens(std::string_view word, SpecialText special, std::vector<ModelToken>& tokens) const override {
    const int32_t id = find(word);
    if (is_allowed(id, special)) {
      tokens.push_back({id, 0, static_cast<uint32_t>(word.size())});
      return true;
    }
    return false;
  }
};

class WordPiece final : public WordModel {
 public:
  explicit WordPiece(const JsonValue& json)
      : WordModel(json), longest_word_(static_cast<size_t>(json.at("max_input_chars_per_word").integer(0, INT64_MAX))) {
    const std::string prefix = json.at("continuing_subword_prefix").text();
    std::vector<std::pair<std::string_view, int32_t>> texts;
    texts.reserve(vocabulary_.size());
    for (const auto& [text, id] : vocabulary_) {
      texts.emplace_back(text, id);
    }
    trie_ = ByteTrie(std::move(texts));
    inner_ = trie_.walk(prefix);
  }

  TokenizerKind kind() const override { return TokenizerKind::wordpiece; }

 private:
  bool append_tokens(std::string_view word, SpecialText special, std::vector<ModelToken>& tokens) const override {
    if (word.size() > longest_word_ && count_characters(word) > longest_word_) {
      return false;
    }
    for (size_t begin = 0; begin < word.size();) {
      ByteTrie::Node node = begin == 0 ? ByteTrie::kRoot : inner_;
      int32_t best = TokenTable::kNone;
      size_t end = begin;
      for (size_t at = begin; at < word.size() && node != ByteTrie::kNowhere; ++at) {
        node = trie_.next(node, word[at]);
        if (node != ByteTrie::kNowhere && is_allowed(trie_.value(node), special)) {
          best = trie_.value(node);
          end = at + 1;
        }
      }
      if (best == TokenTable::kNone) {
        return false;
      }
      tokens.push_back({best, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      begin = end;
    }
    return true;
  }

  size_t longest_word_;
  ByteTrie trie_;
  ByteTrie::Node inner_;  // where tokens that continue a word begin
};

}  // namespace

TokenModelPtr make_wordpiece(const JsonValue& json) { return std::make_unique<WordPiece>(json); }

TokenModelPtr make_word_level(const JsonValue& json) { return std::make_unique<WordLevel>(json); }

}  // namespace heed::huggingface
