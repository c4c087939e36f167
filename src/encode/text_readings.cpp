#include "encode/text_readings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace heed {
namespace {

std::vector<float> floats_of(ConstView rows) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(rows.rows() * rows.columns()));
  for (int64_t r = 0; r < rows.rows(); ++r) {
    for (int64_t c = 0; c < rows.columns(); ++c) {
      values.push_back(rows.type() == DType::bf16 ? static_cast<float>(host<bf16>(rows)(r, c))
                                                  : host<float>(rows)(r, c));
    }
  }
  return values;
}

std::vector<TokenGuess> guesses_of(std::span<const float> logits, const GuessOptions& options) {
  const double most = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0.0;
  for (const float logit : logits) {
    sum += std::exp(static_cast<double>(logit) - most);
  }
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto is_before = [&](int32_t a, int32_t b) {
    const float left = logits[static_cast<size_t>(a)], right = logits[static_cast<size_t>(b)];
    return left > right || (left == right && a < b);
  };
  // A heap, since usually only a few are asked for.
  std::ranges::make_heap(order, [&](int32_t a, int32_t b) { return is_before(b, a); });
  std::vector<TokenGuess> guesses;
  while (!order.empty() && std::ssize(guesses) < options.count) {
    std::ranges::pop_heap(order, [&](int32_t a, int32_t b) { return is_before(b, a); });
    const TokenId token{order.back()};
    order.pop_back();
    if (options.allowed(token)) {
      guesses.push_back({token, std::exp(static_cast<double>(logits[static_cast<size_t>(token.value)]) - most) / sum});
    }
  }
  return guesses;
}

}  // namespace

void read_head_scores(TextReader& reader, std::span<const EncodedText> texts, const TakeValues& take,
                      const ReadingOptions& options) {
  const bool of_words = reader.model().config().head == Head::token_labels;
  reader.read(
      texts, {of_words ? Reading::Result::of_words : Reading::Result::of_texts},
      [&](size_t i, ConstView rows) { take(i, floats_of(rows)); }, options);
}

std::vector<std::vector<float>> head_scores(TextReader& reader, std::span<const EncodedText> texts,
                                            const ReadingOptions& options) {
  std::vector<std::vector<float>> found(texts.size());
  read_head_scores(
      reader, texts, [&](size_t i, std::span<const float> values) { found[i].assign(values.begin(), values.end()); },
      options);
  return found;
}

void read_embeddings(TextReader& reader, std::span<const EncodedText> texts, std::optional<Pooling> pooling,
                     const TakeValues& take, const ReadingOptions& options) {
  reader.read(
      texts, {Reading::Result::embeddings, pooling.value_or(reader.model().config().text_pooling)},
      [&](size_t i, ConstView rows) { take(i, floats_of(rows)); }, options);
}

std::vector<std::vector<float>> embeddings(TextReader& reader, std::span<const EncodedText> texts,
                                           std::optional<Pooling> pooling, const ReadingOptions& options) {
  std::vector<std::vector<float>> found(texts.size());
  read_embeddings(
      reader, texts, pooling,
      [&](size_t i, std::span<const float> values) { found[i].assign(values.begin(), values.end()); }, options);
  return found;
}

void read_mask_guesses(TextReader& reader, std::span<const EncodedText> texts, const GuessOptions& guesses,
                       const TakeGuesses& take, const ReadingOptions& options) {
  const auto take_rows = [&](size_t i, ConstView rows) {
    MaskGuesses found;
    for (int64_t row = 0; row < rows.rows(); ++row) {
      found.push_back(guesses_of(floats_of(rows.row_range(row, 1)), guesses));
    }
    take(i, found);
  };
  reader.read(texts, {Reading::Result::of_masks}, take_rows, options);
}

}  // namespace heed
