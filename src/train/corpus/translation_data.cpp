#include "train/corpus/translation_data.h"

#include <algorithm>

#include "base/system/threads.h"
#include "checkpoint/model_directory.h"
#include "data/corpus/overlap.h"
#include "data/lines/line_reader.h"
#include "text/tokenizer_training.h"
#include "text/unicode/unicode.h"
#include "train/recipe/recipe_checks.h"

namespace heed {
namespace {

std::vector<std::filesystem::path> paths_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::shared_ptr<const Tokenizer> learn_from(const TranslationRecipe& recipe, const std::vector<std::string>& files) {
  const bool skips = recipe.data.rules.over_long_line == Handling::skip;
  LinesOfFiles lines(paths_of(files), {.max_bytes = recipe.data.rules.max_line_bytes,
                                       .long_lines = skips ? LongLines::mark : LongLines::refuse});
  return train_tokenizer(
      recipe.tokenizer.learned, [&](std::string& line) { return lines.next(line); }, names_of(paths_of(files)));
}

std::shared_ptr<const Tokenizer> load_for_translation(const std::filesystem::path& file) {
  std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(file);
  require_sentence_marks(*tokenizer, file);
  return tokenizer;
}

CorpusSide side_of(const std::vector<std::string>& files, const Tokenizer& tokenizer, const PairDataRecipe& data) {
  return {.files = paths_of(files),
          .encode = [&tokenizer](std::string_view text) { return tokenizer.encode(text); },
          .vocabulary = tokenizer.vocabulary_size(),
          .min_length = data.min_length,
          .max_length = data.max_length};
}

}  // namespace

Tokenizers make_tokenizers(const TranslationRecipe& recipe) {
  const PairTokenizerRecipe& tokenizer = recipe.tokenizer;
  if (!tokenizer.source.empty()) {
    const std::shared_ptr<const Tokenizer> source = load_for_translation(tokenizer.source);
    return {source, tokenizer.target == tokenizer.source ? source : load_for_translation(tokenizer.target)};
  }
  check(!recipe.data.train_source.empty(), "data.train_source names no file");
  check(!recipe.data.train_target.empty(), "data.train_target names no file");
  if (tokenizer.shared) {
    const auto both = learn_from(recipe, joined(recipe.data.train_source, recipe.data.train_target));
    return {both, both};
  }
  return {learn_from(recipe, recipe.data.train_source), learn_from(recipe, recipe.data.train_target)};
}

SentenceMarks marks_of(const TranslationTokenizers& tokenizers) {
  return marks_of(tokenizers, TranslationFrame(tokenizers, {}, {}));
}

SentenceMarks marks_of(const TranslationTokenizers& tokenizers, const TranslationFrame& frame) {
  const std::vector<int32_t>& start = frame.target_start();
  return {.begin = TokenId(start.front()),
          .end = tokenizers.target.special().eos,
          .before_source = frame.before_source(),
          .after_source = frame.after_source(),
          .before_target = {start.begin() + 1, start.end()}};
}

Corpus read_training_corpus(const PairDataRecipe& data, const TranslationTokenizers& tokenizers,
                            const TaskSetup& setup) {
  const std::vector<CorpusSide> sides{side_of(data.train_source, tokenizers.source, data),
                                      side_of(data.train_target, tokenizers.target, data)};
  if (setup.stored != nullptr) {
    return Corpus::stored(*setup.stored, sides);
  }
  ThreadPool pool(setup.threads);
  return read_corpus(sides, data.rules, {pool, setup.ranks},
                     {.memory_bytes = static_cast<size_t>(data.memory_megabytes) << 20, .folder = setup.spill_folder});
}

ValidationText read_validation_text(const PairDataRecipe& data) {
  ValidationText text{read_lines(paths_of(data.validation_source)), read_lines(paths_of(data.validation_target))};
  require<FormatError>(text.source.size() == text.target.size(), "data.validation_source",
                       "{} lines in {}, but {} in {}", text.source.size(), fmt::join(data.validation_source, ", "),
                       text.target.size(), fmt::join(data.validation_target, ", "));
  bool has_pair = data.validation_source.empty();
  for (size_t i = 0; i < text.source.size() && !has_pair; ++i) {
    has_pair = !is_blank(text.source[i]) && !is_blank(text.target[i]);
  }
  require<FormatError>(has_pair, "data.validation_source", "holds no lines with text on both sides");
  return text;
}

void store(FieldsToStore& fields, const ValidationText& text) {
  fields.add_texts("validation.source", text.source);
  fields.add_texts("validation.target", text.target);
}

ValidationText stored_validation_text(const StoredFields& fields) {
  ValidationText text{fields.texts_of("validation.source"), fields.texts_of("validation.target")};
  require<FormatError>(text.source.size() == text.target.size(), fields.where(),
                       "{} validation sources, but {} targets", text.source.size(), text.target.size());
  return text;
}

void store(FieldsToStore& fields, const ValidationOverlap& overlap) {
  fields.add_number("overlap.pairs", overlap.pairs);
  fields.add_number("overlap.sources", overlap.sources);
}

ValidationOverlap stored_overlap(const StoredFields& fields) {
  return {.pairs = fields.count("overlap.pairs", 0), .sources = fields.count("overlap.sources", 0)};
}

ValidationOverlap find_overlap(const Corpus& corpus, const ValidationText& validation,
                               const TranslationTokenizers& tokenizers) {
  constexpr int32_t kBetweenSides = -1;
  SequenceSearch sources, pairs;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < validation.source.size(); ++i) {
    const std::vector<TokenId> source = tokenizers.source.encode(validation.source[i]);
    const std::vector<TokenId> target = tokenizers.target.encode(validation.target[i]);
    const bool is_known = std::ranges::count(source, tokenizers.source.special().unk) == 0 &&
                          std::ranges::count(target, tokenizers.target.special().unk) == 0;
    if (source.empty() || target.empty() || !is_known) {
      continue;
    }
    ids.clear();
    std::ranges::transform(source, std::back_inserter(ids), &TokenId::value);
    sources.look_for(ids);
    ids.push_back(kBetweenSides);
    std::ranges::transform(target, std::back_inserter(ids), &TokenId::value);
    pairs.look_for(ids);
  }
  for (int64_t s = 0; s < corpus.size() && sources.wanted() > 0; ++s) {
    ids.clear();
    corpus.source().read(s, ids);
    sources.scan(ids);
    ids.push_back(kBetweenSides);
    corpus.target().read(s, ids);
    pairs.scan(ids);
  }
  return {.pairs = pairs.found(), .sources = sources.found()};
}

}  // namespace heed
