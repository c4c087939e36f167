#include "train/masked_model_task.h"

#include <algorithm>
#include <utility>

#include "data/even_parts.h"
#include "decode/token_ids.h"
#include "ops/select_rows.h"
#include "text/multiline.h"

namespace heed {
namespace {

static_assert(MaskedText::kNothing == Targets::kIgnored);

constexpr int64_t kMaskedValidationTokens = 4096;  // about so many in one pass
constexpr int64_t kSampleTokens = 64;

class MaskedShard final : public Shard {
 public:
  explicit MaskedShard(MaskedText&& text)
      : batch_{Sequences(std::move(text.tokens.ids), std::move(text.tokens.segments)),
               Targets(std::move(text.expected))},
        targets_(batch_.expected.counted()) {}

  int64_t targets() const override { return targets_; }
  ShardTexts texts() const override { return {batch_.tokens, batch_.tokens}; }
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    return model.encoder_only().loss(pass, batch_, smoothing);
  }

 private:
  TokenBatch batch_;
  int64_t targets_;
};

int64_t chosen_in(const MaskedText& text) {
  return static_cast<int64_t>(text.expected.size()) - std::ranges::count(text.expected, MaskedText::kNothing);
}

// An update without anything to predict would have no mean loss.
void ensure_chosen(std::vector<MaskedText>& texts, const Masking& masking, std::string_view key) {
  const bool any = std::ranges::any_of(texts, [](const MaskedText& text) { return chosen_in(text) > 0; }) ||
                   std::ranges::any_of(texts, [&](MaskedText& text) { return masking.mask_first_maskable(text); });
  require<FormatError>(any, key, "an update has no token that can be masked");
}

TokenId mask_of(const Tokenizer& tokenizer, const MaskedModelRecipe& recipe) {
  const std::optional<TokenId> mask = tokenizer.find(show_piece(recipe.mask));
  require<ConfigError>(mask.has_value(), "tokenizer.mask",
                       "the tokenizer has no token \"{}\": learn it with that text among its user symbols, or set "
                       "tokenizer.mask to the text of its mask token",
                       recipe.mask);
  return *mask;
}

// What a model makes of the chosen rows of a text.
struct Predictions {
  std::vector<int32_t> tokens;  // the likeliest of each chosen row, in order
  double negative_log_likelihood = 0.0;
  int64_t right = 0;
};

int32_t likeliest(View logits, int64_t row) {
  const auto values = host<float>(logits);
  int32_t best = 0;
  for (int32_t token = 1; token < logits.columns(); ++token) {
    best = values(row, token) > values(row, best) ? token : best;
  }
  return best;
}

Predictions predict(const Inference& inference, const MaskedText& text) {
  std::vector<int32_t> rows, expected;
  for (size_t row = 0; row < text.expected.size(); ++row) {
    if (text.expected[row] != MaskedText::kNothing) {
      rows.push_back(static_cast<int32_t>(row));
      expected.push_back(text.expected[row]);
    }
  }
  Predictions found;
  if (rows.empty()) {
    return found;
  }
  const EncoderOnly& model = inference.model.encoder_only();
  const Sequences tokens(text.tokens.ids, text.tokens.segments);
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const Hidden hidden(select_rows(pass, model.hidden(pass, tokens).var(), rows));
  const Logits logits = model.logits(pass, hidden);
  const Targets targets(expected);
  found.negative_log_likelihood = cross_entropy(pass, logits, targets, Smoothing(0.0F)).total_negative_log_likelihood();
  for (size_t i = 0; i < rows.size(); ++i) {
    found.tokens.push_back(likeliest(logits.var().value(), static_cast<int64_t>(i)));
    found.right += found.tokens.back() == expected[i] ? 1 : 0;
  }
  return found;
}

}  // namespace

MaskedModelTask::MaskedModelTask(const Recipe& recipe, const TaskSetup& setup)
    : recipe_(recipe.of<MaskedModelRecipe>()),
      key_(RandomKey{static_cast<uint64_t>(recipe.training.seed)}.derive("masking")),
      batches_per_update_(recipe.training.accumulate),
      shards_per_batch_(shards_per_batch(recipe.training)) {
  const TextDataRecipe& data = recipe_.data;
  const TextParts parts = setup.stored != nullptr ? stored_text_parts(data) : text_parts(data);
  tokenizers_ = setup.tokenizers != nullptr ? *setup.tokenizers : make_masked_tokenizers(recipe_, parts.train);
  const Tokenizer& tokenizer = *tokenizers_.front();
  masking_.emplace(tokenizer, mask_of(tokenizer, recipe_), recipe_.masking);
  const TextCorpora corpora(data, tokenizer, setup);
  train_.emplace(corpora.read(parts.train, "train"), data.borders);
  if (parts.validation) {
    validation_.emplace(corpora.read(*parts.validation, "validation"), data.borders);
  }
  batches_.emplace(train_->pieces.size(), data.batches, static_cast<uint64_t>(recipe.training.seed),
                   train_->corpus.fingerprint());
}

std::string MaskedModelTask::describe_text() const {
  const auto words = [&](const TextCorpus& text) { return describe_size(text, recipe_.data.documents); };
  return words(train_->corpus) + (validation_ ? "; validation: " + words(validation_->corpus) : "");
}

std::vector<std::pair<std::string, int64_t>> MaskedModelTask::sizes() const {
  return {{"train_tokens", train_->corpus.tokens()},
          {"train_bytes", train_->corpus.size().bytes},
          {"validation_tokens", validation_ ? validation_->corpus.tokens() : 0},
          {"validation_bytes", validation_ ? validation_->corpus.size().bytes : 0}};
}

void MaskedModelTask::store(PartsToStore& parts) const {
  train_->corpus.store(parts, "train");
  if (validation_) {
    validation_->corpus.store(parts, "validation");
  }
}

Update MaskedModelTask::next_update(int64_t number) {
  const auto rows_of = [](const RowRange& range) { return range.end - range.begin; };
  Update update;
  std::vector<MaskedText> texts;
  uint64_t first_row = 0;
  for (int64_t i = 0; i < batches_per_update_; ++i) {
    const std::vector<RowRange> ranges = batches_->next();
    std::ranges::transform(ranges, std::back_inserter(update.examples), &RowRange::begin);
    for (const auto part : cut_evenly(std::span(ranges), shards_per_batch_, rows_of)) {
      texts.push_back(
          masking_->apply(train_->pieces.read(part, first_row), key_.derive(static_cast<uint64_t>(number))));
      first_row += texts.back().expected.size();
    }
  }
  ensure_chosen(texts, *masking_, "data.train");
  for (MaskedText& text : texts) {
    auto shard = std::make_unique<MaskedShard>(std::move(text));
    if (shard->targets() > 0) {
      update.shards.push_back(std::move(shard));
    }
  }
  return update;
}

void MaskedModelTask::seek(const BatchPosition& position) {
  require<ConfigError>(position.stream == batches_->position().stream, "data.train",
                       "the text is not the one that the run started with");
  batches_->seek(position);
}

std::vector<RowRange> MaskedModelTask::ranges_of(const Update& update) const {
  std::vector<RowRange> ranges;
  std::ranges::transform(update.examples, std::back_inserter(ranges), [&](int64_t begin) {
    return RowRange{begin, std::min(begin + recipe_.data.batches.context, train_->pieces.size())};
  });
  return ranges;
}

std::string MaskedModelTask::describe_origins(const Update& update) const {
  return train_->rows.describe(ranges_of(update));
}

std::string MaskedModelTask::list_origins(const Update& update) const { return train_->rows.list(ranges_of(update)); }

// Sequences as long as those in training, masked in the same way each time.
std::vector<MaskedText> MaskedModelTask::masked_validation() const {
  const int64_t context = recipe_.data.batches.context, tokens = validation_->pieces.size();
  const int64_t at_once = std::max<int64_t>(1, kMaskedValidationTokens / context) * context;
  std::vector<MaskedText> texts;
  for (int64_t begin = 0; begin < tokens; begin += at_once) {
    std::vector<RowRange> ranges;
    for (int64_t at = begin; at < std::min(begin + at_once, tokens); at += context) {
      ranges.push_back({at, std::min(at + context, tokens)});
    }
    texts.push_back(masking_->apply(validation_->pieces.read(ranges, static_cast<uint64_t>(begin)),
                                    RandomKey{}.derive("masking of validation")));
  }
  ensure_chosen(texts, *masking_, "data.validation");
  return texts;
}

Scores MaskedModelTask::validate(const Inference& inference) const {
  Scores scores;
  double sum = 0.0;
  int64_t counted = 0, right = 0;
  for (const MaskedText& text : masked_validation()) {
    const Predictions found = predict(inference, text);
    sum += found.negative_log_likelihood;
    right += found.right;
    counted += chosen_in(text);
    auto next = found.tokens.begin();
    for (int64_t s = 0; s < text.tokens.segments.count(); ++s) {
      const auto begin = text.expected.begin() + text.tokens.segments.begin(s);
      const auto chosen = text.tokens.segments.length(s) -
                          std::count(begin, begin + text.tokens.segments.length(s), MaskedText::kNothing);
      if (chosen > 0 && static_cast<int64_t>(scores.samples.size()) < recipe_.samples) {
        scores.samples.push_back(sample_of(text, s, {next, next + chosen}));
      }
      next += chosen;
    }
  }
  scores.loss = sum / static_cast<double>(counted);
  scores.value = -scores.loss;
  scores.others.push_back({"accuracy", static_cast<double>(right) / static_cast<double>(counted)});
  return scores;
}

// The beginning of a segment as the model saw it, and with the model's predictions.
Sample MaskedModelTask::sample_of(const MaskedText& text, int64_t segment, std::span<const int32_t> predicted) const {
  const auto begin = static_cast<size_t>(text.tokens.segments.begin(segment));
  const auto length = static_cast<size_t>(std::min(text.tokens.segments.length(segment), kSampleTokens));
  std::vector<int32_t> seen(text.tokens.ids.begin() + static_cast<int64_t>(begin),
                            text.tokens.ids.begin() + static_cast<int64_t>(begin + length));
  std::vector<int32_t> filled = seen;
  for (size_t i = 0, next = 0; i < length; ++i) {
    if (text.expected[begin + i] != MaskedText::kNothing) {
      filled[i] = predicted[next++];
    }
  }
  const Tokenizer& tokenizer = *tokenizers_.front();
  return {decode_text(tokenizer, tokens_of(seen)), " => " + decode_text(tokenizer, tokens_of(filled))};
}

}  // namespace heed
