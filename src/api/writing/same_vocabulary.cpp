#include "api/writing/same_vocabulary.h"

namespace heed {
namespace {

// How the vocabulary of the first model differs from that of another; empty when it does not.
std::string difference(const Tokenizer& first, const Tokenizer& other) {
  if (first.vocabulary_size() != other.vocabulary_size()) {
    return fmt::format("{} tokens, not {}", first.vocabulary_size(), other.vocabulary_size());
  }
  for (int32_t id = 0; id < static_cast<int32_t>(first.vocabulary_size()); ++id) {
    const std::string_view of_first = first.piece(TokenId(id)), of_other = other.piece(TokenId(id));
    if (of_first != of_other) {
      return fmt::format("token {} is '{}', not '{}'", id, of_first, of_other);
    }
  }
  return first.special() == other.special() ? "" : "its special tokens are others";
}

}  // namespace

void require_same_vocabularies(const NamedModel& model, std::string_view purpose, const NamedModel& first) {
  for (const TokenizerRole& role : tokenizer_roles(first.model.config().architecture)) {
    const std::string differs = difference(first.model.tokenizer(role.name), model.model.tokenizer(role.name));
    require<FormatError>(differs.empty(), model.folder.path.string(),
                         "cannot {} {}, which has another {} vocabulary: {}; take a model that was trained with the "
                         "tokenizers of {}",
                         purpose, first.folder.path.string(), role.name, differs, first.folder.path.string());
  }
}

}  // namespace heed
