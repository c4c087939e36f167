#include "text/shortlist.h"

#include <bit>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

void add_if_there(const Tokenizer& target, std::string_view piece, std::vector<int32_t>& tokens) {
  if (const std::optional<TokenId> found = target.find(piece)) {
    tokens.push_back(found->value);
  }
}

// What no translation can do without: its end, the unknown word, and bytes, of which any character can be made.
std::vector<int32_t> indispensable(const Tokenizer& target) {
  std::vector<int32_t> tokens;
  for (const TokenId token : {target.special().eos, target.special().unk}) {
    if (token != kNoToken) {
      tokens.push_back(token.value);
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    add_if_there(target, fmt::format("<0x{:02X}>", byte), tokens);
  }
  return tokens;
}

// A set of tokens. A sentence's lists have a thousand tokens and more: marking them takes a small part of the time that
// sorting them takes.
class TokenMarks {
 public:
  explicit TokenMarks(int64_t vocabulary) : words_(static_cast<size_t>(vocabulary + 63) / 64, 0) {}

  void add(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) {
      words_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
    }
  }
  std::vector<int32_t> tokens() const {
    std::vector<int32_t> all;
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t rest = words_[word]; rest != 0; rest &= rest - 1) {
        all.push_back(static_cast<int32_t>(64 * word) + std::countr_zero(rest));
      }
    }
    return all;
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace

Shortlist::Shortlist(ShortlistTable table, const TranslationTokenizers& tokenizers, std::string_view where)
    : table_(std::move(table)),
      always_(indispensable(tokenizers.target)),
      target_vocabulary_(tokenizers.target.vocabulary_size()),
      shared_(tokenizers.are_shared()) {
  const auto require_tokens = [&](const std::vector<int32_t>& tokens) {
    for (const int32_t token : tokens) {
      require<FormatError>(token >= 0 && token < target_vocabulary_, where,
                           "holds token {}, but the target's tokenizer has {}", token, target_vocabulary_);
    }
  };
  require_tokens(table_.frequent);
  require_tokens(table_.targets);
  require<FormatError>(std::ssize(table_.ends) == tokenizers.source.vocabulary_size(), where,
                       "has lists for {} tokens, but the source's tokenizer has {}", table_.ends.size(),
                       tokenizers.source.vocabulary_size());
  int64_t before = 0;
  for (const int64_t end : table_.ends) {
    require<FormatError>(end >= before && end <= std::ssize(table_.targets), where,
                         "a list ends at {} after {}, of {} targets", end, before, table_.targets.size());
    before = end;
  }
  require<FormatError>(before == std::ssize(table_.targets), where, "the last list ends at {} of {} targets", before,
                       table_.targets.size());
  always_.insert(always_.end(), table_.frequent.begin(), table_.frequent.end());
}

std::vector<int32_t> Shortlist::candidates(std::span<const int32_t> source, std::span<const int32_t> also) const {
  TokenMarks marks(target_vocabulary_);
  marks.add(always_);
  marks.add(also);
  for (const int32_t token : source) {
    const auto index = static_cast<size_t>(token);
    const int64_t begin = index == 0 ? 0 : table_.ends[index - 1];
    marks.add(
        std::span(table_.targets).subspan(static_cast<size_t>(begin), static_cast<size_t>(table_.ends[index] - begin)));
  }
  if (shared_) {
    marks.add(source);
  }
  return marks.tokens();
}

}  // namespace heed
