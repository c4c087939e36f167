#include "report/comparison/paired_texts.h"

#include <algorithm>

#include "data/batches/text_batches.h"
#include "decode/texts/translation/text_translation.h"
#include "eval/bootstrap.h"
#include "report/run/sample_files.h"
#include "train/recipe/labeled_recipe.h"
#include "train/tasks/labeled_scores.h"

namespace heed {
namespace {

constexpr int64_t kWindow = 128;  // tokens

PairedResult result_of(const PairedScores& scores) { return {scores.a, scores.b, scores.p_value()}; }

}  // namespace

std::optional<PairedResult> paired(const TextScores& first, const TextScores& other) {
  if (!first.translations.empty() && first.translations.size() == other.translations.size()) {
    const BootstrapSamples samples{.sentences = first.translations.size()};
    return result_of(paired_bootstrap<BleuStatistics>(first.translations, other.translations, samples,
                                                      [](const BleuStatistics& sum) { return bleu(sum).score; }));
  }
  if (!first.shares.empty() && first.shares.size() == other.shares.size() && first.tokens == other.tokens) {
    const BootstrapSamples samples{.sentences = first.shares.size()};
    return result_of(paired_bootstrap<TextShare>(first.shares, other.shares, samples, [](const TextShare& sum) {
      return sum.whole > 0.0 ? sum.part / sum.whole : 0.0;
    }));
  }
  return std::nullopt;
}

ScoredTranslations scored_translations(const StoredModel& stored, Backend& backend,
                                       const std::vector<SampleLine>& lines, const TranslationOptions& search,
                                       LetterCase letters) {
  Scheduler scheduler({stored.model(), backend, DType::f32});
  const TextTranslator translator{
      .scheduler = scheduler, .tokenizers = {stored.source(), stored.target()}, .marks = stored.marks()};
  std::vector<std::string> sources;
  sources.reserve(lines.size());
  for (const SampleLine& line : lines) {
    sources.push_back(line.source);
  }
  const auto found = translate_lines(
      translator, sources, search, [&](size_t i) { return lines[i].where; }, TooLong::truncate);
  ScoredTranslations scored;
  for (size_t i = 0; i < lines.size(); ++i) {
    scored.texts.push_back(found[i].front().translation.text);
    if (!lines[i].reference.empty()) {
      scored.scores.translations.push_back(
          bleu_statistics(scored.texts.back(), std::span(&lines[i].reference, 1), letters));
    }
  }
  return scored;
}

TextScores scored_windows(const StoredModel& stored, Backend& backend, const TextRules& text, int64_t count) {
  ThreadPool pool(backend.threads());
  const TextCorpus corpus = read_text_corpus(text, stored.text(), pool);
  const TextRows rows(corpus, DocumentBorders::kept);
  const int64_t length = std::min(kWindow, stored.config().max_length);
  const int64_t windows = rows.size() / length, shown = std::min(windows, count);
  TextScores scores;
  for (int64_t i = 0; i < shown; ++i) {
    const int64_t begin = i * windows / shown * length;
    const RowRange range{begin, begin + length};
    const TokenBatch batch = rows.read(std::span(&range, 1));
    Pass pass = Pass::infer(backend, DType::f32);
    const double nats = stored.model().causal_lm().loss(pass, batch, Smoothing(0.0F)).total_negative_log_likelihood();
    const std::span<const int32_t> ids = batch.expected.ids();
    const auto targets = std::ranges::count_if(ids, [](int32_t id) { return id != Targets::kIgnored; });
    scores.shares.push_back({nats, static_cast<double>(targets)});
    scores.tokens.insert(scores.tokens.end(), ids.begin(), ids.end());
  }
  return scores;
}

TextScores scored_labels(const StoredModel& stored, Backend& backend, const Recipe& recipe, int64_t count) {
  const LabeledRecipe* const labeled = recipe.find<LabeledRecipe>();
  const ModelConfig& config = stored.config();
  if (labeled == nullptr || !are_there(labeled->data.validation) ||
      (config.head != Head::one_label && config.head != Head::token_labels)) {
    return {};
  }
  std::vector<NamedExample> named =
      read_examples(labeled->data.validation, {.tokenizer = stored.text(),
                                               .head = config.head,
                                               .max_length = config.max_length,
                                               .columns = stored.columns().value_or(labeled->data.columns),
                                               .format = labeled->data.format});
  named.resize(std::min(named.size(), static_cast<size_t>(count)));
  const std::vector<LabeledExample> examples =
      with_label_ids(std::move(named), {config.labels, "the model's labels", ""});
  TextReader reader(stored.model(), DType::f32, backend);
  TextScores scores;
  for (const LabeledExample& example : examples) {
    const auto labels =
        static_cast<double>(config.head == Head::one_label ? 1 : std::ssize(example.text.first_of_words));
    const double accuracy = score_examples(reader, std::span(&example, 1)).value;
    scores.shares.push_back({accuracy * labels, labels});
  }
  return scores;
}

}  // namespace heed
