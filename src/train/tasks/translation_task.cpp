#include "train/tasks/translation_task.h"

#include <algorithm>
#include <cmath>

#include "data/batches/even_parts.h"
#include "decode/texts/translation/text_translation.h"
#include "decode/texts/translation/translation_frame.h"
#include "eval/bleu.h"
#include "train/recipe/recipe_checks.h"
#include "train/tasks/pair_shard.h"

namespace heed {
namespace {

Tokenizers tokenizers_of(const TranslationRecipe& recipe, const TaskSetup& setup) {
  return setup.tokenizers != nullptr ? *setup.tokenizers : make_tokenizers(recipe);
}

// Other programs' models read and write more around a sentence than the end that the recipe's own checks know.
SentenceMarks marks_within(const TranslationTokenizers& pair, const ModelMarks& marks, const PairDataRecipe& data,
                           int64_t max_length) {
  const TranslationFrame frame(pair, marks, data.languages);
  require<ConfigError>(!frame.lacks_target(), "data.target_language",
                       "is not set, but the model writes several languages: name that of data.train_target");
  const int64_t around_source = frame.tokens_around_source(), around_target = std::ssize(frame.target_start());
  check(data.max_length + around_source <= max_length,
        "data.max_length is {} tokens and {} around a source, but model.max_length is {}", data.max_length,
        around_source, max_length);
  check(data.max_length + around_target <= max_length,
        "data.max_length is {} tokens and {} before a target, but model.max_length is {}", data.max_length,
        around_target, max_length);
  return marks_of(pair, frame);
}

double loss_per_token(const TextTranslator& translator, const ValidationText& text, const LanguagePair& languages) {
  std::vector<std::string> sources, targets;
  for (size_t i = 0; i < text.source.size(); ++i) {
    if (!translator.tokenizers.source.encode(text.source[i]).empty() &&
        !translator.tokenizers.target.encode(text.target[i]).empty()) {
      sources.push_back(text.source[i]);
      targets.push_back(text.target[i]);
    }
  }
  double sum = 0.0;
  int64_t tokens = 0;
  const auto name = [](size_t i) { return fmt::format("validation pair {}", i + 1); };
  for (const PairScore& score :
       score_lines(translator, {sources, targets}, {name, name}, TooLong::truncate, languages)) {
    sum -= score.log_probability;
    tokens += score.tokens;
  }
  return tokens > 0 ? sum / static_cast<double>(tokens) : 0.0;
}

double bleu_of(const TextTranslator& translator, const ValidationText& text, const TranslationValidationRecipe& recipe,
               const LanguagePair& languages) {
  const size_t count =
      recipe.sentences == 0 ? text.source.size() : std::min(text.source.size(), static_cast<size_t>(recipe.sentences));
  const std::span<const std::string> sources(text.source.data(), count);
  const auto found = translate_lines(
      translator, sources, {.beam = recipe.beam, .length_penalty = recipe.length_penalty, .languages = languages},
      [](size_t i) { return fmt::format("validation line {}", i + 1); }, TooLong::truncate);
  std::vector<std::string> hypotheses;
  std::ranges::transform(found, std::back_inserter(hypotheses),
                         [](const auto& best) { return best.front().translation.text; });
  const std::vector<std::vector<std::string>> references{
      {text.target.begin(), text.target.begin() + static_cast<int64_t>(count)}};
  return bleu(hypotheses, references, recipe.lowercase ? LetterCase::lower : LetterCase::kept).score;
}

}  // namespace

TranslationTask::TranslationTask(const Recipe& recipe, const TaskSetup& setup)
    : recipe_(recipe.of<TranslationRecipe>()),
      batches_per_update_(recipe.training.accumulate),
      shards_per_batch_(shards_per_batch(recipe.training)),
      tokenizers_(tokenizers_of(recipe_, setup)),
      pair_(TranslationTokenizers::of(tokenizers_)),
      model_marks_(setup.marks),
      marks_(marks_within(pair_, setup.marks, recipe_.data, recipe.model.max_length)),
      subwords_(recipe_, static_cast<uint64_t>(recipe.training.seed), pair_),
      corpus_(read_training_corpus(recipe_.data, pair_, setup)),
      validation_(setup.stored != nullptr ? stored_validation_text(*setup.stored) : read_validation_text(recipe_.data)),
      overlap_(setup.stored != nullptr ? stored_overlap(*setup.stored) : find_overlap(corpus_, validation_, pair_)),
      batches_(corpus_.size(), pair_lengths(corpus_, marks_), recipe_.data.batches,
               static_cast<uint64_t>(recipe.training.seed), corpus_.fingerprint()) {}

std::string TranslationTask::describe_text() const {
  std::string text = corpus_.report().text();
  if (overlap_.sources > 0) {
    text += fmt::format("; of {} validation sentences {} are in it too, {} of them with the same translation",
                        validation_.source.size(), overlap_.sources, overlap_.pairs);
  }
  return text;
}

std::vector<std::pair<std::string, int64_t>> TranslationTask::sizes() const {
  return {{"train_sentences", corpus_.size()},
          {"validation_sentences", static_cast<int64_t>(validation_.source.size())},
          {"validation_trained_on", overlap_.sources}};
}

Update TranslationTask::next_update(int64_t number) {
  Update update;
  const PairChanges changes = subwords_.at(number);
  const SentenceLengths lengths = pair_lengths(corpus_, marks_);
  const auto rows_of = [&](int64_t sentence) { return lengths(sentence).source + lengths(sentence).target; };
  FirstRows next;
  for (int64_t i = 0; i < batches_per_update_; ++i) {
    const std::span<const int64_t> chosen = batches_.next();
    update.examples.insert(update.examples.end(), chosen.begin(), chosen.end());
    for (const std::span<const int64_t> part : cut_evenly(chosen, shards_per_batch_, rows_of)) {
      PairBatch pairs = make_pairs(corpus_, part, marks_, changes, next);
      next.source += static_cast<uint64_t>(pairs.source.rows());
      next.target += static_cast<uint64_t>(pairs.target.rows());
      update.shards.push_back(std::make_unique<PairShard>(std::move(pairs)));
    }
  }
  return update;
}

void TranslationTask::seek(const BatchPosition& position) { seek_batches(batches_, position, "data.train_source"); }

std::string TranslationTask::describe_origins(const Update& update) const {
  return heed::describe_origins(corpus_, update.examples);
}

std::string TranslationTask::list_origins(const Update& update) const {
  return heed::list_origins(corpus_, update.examples);
}

void TranslationTask::store(FieldsToStore& fields) const {
  corpus_.store(fields);
  heed::store(fields, validation_);
  heed::store(fields, overlap_);
}

// Sides that are too long for the model are truncated. Pairs with an empty side count only for BLEU. If the loss is
// NaN, nothing is translated.
Scores TranslationTask::validate(const Inference& inference) const {
  Scheduler scheduler(inference);
  const TextTranslator translator{.scheduler = scheduler, .tokenizers = pair_, .marks = model_marks_};
  const LanguagePair& languages = recipe_.data.languages;
  Scores scores{.loss = loss_per_token(translator, validation_, languages), .others = {}, .samples = {}};
  scores.value = -scores.loss;
  if (recipe_.validation.bleu && std::isfinite(scores.loss)) {
    const double bleu = bleu_of(translator, validation_, recipe_.validation, languages);
    scores.others.push_back({"bleu", bleu});
    scores.value = recipe_.validation.best_by == BestBy::bleu ? bleu : scores.value;
  }
  return scores;
}

}  // namespace heed
