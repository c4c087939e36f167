#include "api/same_vocabulary.h"

namespace heed {
namespace {

// How the second differs; empty when it does not.
std::string difference(const Tokenizer& one, const Tokenizer& other) {
  if (one.vocabulary_size() != other.vocabulary_size()) {
    return fmt::format("{} tokens, not {}", other.vocabulary_size(), one.vocabulary_size());
  }
  for (int32_t id = 0; id < static_cast<int32_t>(other.vocabulary_size()); ++id) {
    const std::string_view found = one.piece(TokenId(id)), wanted = other.piece(TokenId(id));
    if (found != wanted) {
      return fmt::format("token {} is '{}', not '{}'", id, wanted, found);
    }
  }
  return one.special() == other.special() ? "" : "its special tokens are others";
}

}  // namespace

void require_same_vocabularies(const NamedModel& one, const NamedModel& other, std::string_view role) {
  for (const TokenizerRole& tokenizer : tokenizer_roles(other.model.config().architecture)) {
    const std::string differs = difference(one.model.tokenizer(tokenizer.name), other.model.tokenizer(tokenizer.name));
    require<FormatError>(differs.empty(), one.folder.path.string(),
                         "cannot {} {}, which has another {} vocabulary: {}; train it with the tokenizer of that model",
                         role, other.folder.path.string(), tokenizer.name, differs);
  }
}

}  // namespace heed
