#include "train/recipe/tokenizer_recipe.h"

namespace heed {

std::vector<Setting> tokenizer_settings(TokenizerTraining& tokenizer) {
  return {choice("kind", tokenizer.kind, kTokenizerKindNames),
          setting("vocabulary", tokenizer.vocabulary),
          choice("normalization", tokenizer.normalization, kNormalizationNames),
          setting("sample_lines", tokenizer.sample_lines),
          setting("minimum_count", tokenizer.minimum_count),
          setting("coverage", tokenizer.coverage),
          setting("user_symbols", tokenizer.user_symbols),
          setting("pad", tokenizer.special.pad),
          setting("unk", tokenizer.special.unk),
          setting("bos", tokenizer.special.bos),
          setting("eos", tokenizer.special.eos),
          setting("sep", tokenizer.special.sep)};
}

bool learns_pieces(TokenizerKind kind) {
  return kind == TokenizerKind::bpe || kind == TokenizerKind::unigram || kind == TokenizerKind::wordpiece;
}

void check_vocabulary(const TokenizerTraining& tokenizer) {
  const auto smallest = static_cast<int64_t>(tokenizer.special.in_order().size() + tokenizer.user_symbols.size() + 1);
  require<ConfigError>(!learns_pieces(tokenizer.kind) || tokenizer.vocabulary >= smallest, "recipe",
                       "tokenizer.vocabulary is {}, expected at least {} for {}", tokenizer.vocabulary, smallest,
                       name_of(tokenizer.kind));
}

void check_tokenizer(const TokenizerTraining& tokenizer) {
  require<ConfigError>(tokenizer.vocabulary >= 0, "recipe", "tokenizer.vocabulary is {}, expected at least 0",
                       tokenizer.vocabulary);
  require<ConfigError>(tokenizer.sample_lines >= 1, "recipe", "tokenizer.sample_lines is {}, expected at least 1",
                       tokenizer.sample_lines);
}

}  // namespace heed
