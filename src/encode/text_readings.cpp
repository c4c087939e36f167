#include "encode/text_readings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "kernels/host_copy.h"
#include "ops/rows/pool.h"
#include "ops/rows/select_rows.h"

namespace heed {
namespace {

// A batch of kBatchTokens leaves what passes from op to op in a core's cache. Where texts are few, all threads work on
// one batch of up to kMostTokens.
constexpr int64_t kBatchTokens = 512, kFewestTokens = 256, kMostTokens = 2048;
constexpr double kUneven = 1.1;  // the busiest lane's tokens over the mean

using Batch = std::vector<const EncodedText*>;

using Batches = std::vector<std::vector<size_t>>;

int64_t tokens_of(std::span<const EncodedText> texts, std::span<const size_t> some) {
  int64_t tokens = 0;
  for (const size_t i : some) {
    tokens += std::ssize(texts[i].ids);
  }
  return tokens;
}

// In this order, each closed when it has `full` tokens.
Batches cut_into_batches(std::span<const EncodedText> texts, std::span<const size_t> order, int64_t full) {
  Batches batches;
  int64_t tokens = 0;
  for (const size_t i : order) {
    if (batches.empty() || tokens >= full) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += std::ssize(texts[i].ids);
  }
  return batches;
}

// Whether lanes that take the batches in turn have about equally much to do.
bool are_even(std::span<const EncodedText> texts, const Batches& batches, int64_t lanes) {
  std::vector<int64_t> loads(static_cast<size_t>(lanes), 0);
  int64_t all = 0;
  for (const std::vector<size_t>& batch : batches) {
    const int64_t tokens = tokens_of(texts, batch);
    *std::ranges::min_element(loads) += tokens;
    all += tokens;
  }
  return static_cast<double>(std::ranges::max(loads) * lanes) <= kUneven * static_cast<double>(all);
}

// Batches of similar lengths, longest first: as many of one size as keep all lanes busy to the end.
Batches reading_batches(std::span<const EncodedText> texts, int64_t lanes) {
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return texts[i].ids.size(); });
  const int64_t all = tokens_of(texts, order);
  const int64_t in_all = lanes * ((all + lanes * kBatchTokens - 1) / (lanes * kBatchTokens));
  Batches batches = cut_into_batches(texts, order, (all + in_all - 1) / std::max<int64_t>(1, in_all));
  const bool few = all < lanes * kFewestTokens || (all <= kMostTokens && !are_even(texts, batches, lanes));
  return few ? cut_into_batches(texts, order, kMostTokens) : batches;
}

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

// Reads all texts: make(pass, sequences, texts of the batch) gives a matrix with rows_of(text) rows for each text, and
// take(rows) makes a text's result of its rows.
template <class Make, class RowsOf, class Take>
auto read_all(const TextReader& reader, std::span<const EncodedText> texts, Make make, RowsOf rows_of, Take take) {
  const Batches batches = reading_batches(texts, reader.lanes.count());
  std::vector<decltype(take(std::declval<ConstView>()))> found(texts.size());
  reader.lanes.run(batches.size(), [&](size_t task, Backend& backend) {
    Batch batch;
    std::ranges::transform(batches[task], std::back_inserter(batch), [&](size_t i) { return &texts[i]; });
    Pass pass = Pass::infer(backend, reader.storage);
    const SourceSequences sequences(sequences_of(batch, reader.model.config().token_types));
    const Var result = make(pass, sequences, batch);
    const HostCopy on_host(backend, result.value());
    int64_t row = 0;
    for (const size_t i : batches[task]) {
      const int64_t rows = rows_of(texts[i]);
      found[i] = take(on_host.view().row_range(row, rows));
      row += rows;
    }
  });
  return found;
}

// The rows in a batch of what `member` lists of each text.
std::vector<int32_t> listed_rows(const Sequences& sequences, const Batch& batch,
                                 std::vector<int32_t> EncodedText::*member) {
  std::vector<int32_t> rows;
  for (size_t s = 0; s < batch.size(); ++s) {
    for (const int32_t row : batch[s]->*member) {
      rows.push_back(static_cast<int32_t>(sequences.segments().begin(static_cast<int64_t>(s))) + row);
    }
  }
  return rows;
}

// The head's scores of the rows that `member` lists of each text.
template <class Take>
auto scores_of_rows(const TextReader& reader, std::span<const EncodedText> texts,
                    std::vector<int32_t> EncodedText::*member, Take take) {
  const EncoderOnly& model = reader.model.encoder_only();
  return read_all(
      reader, texts,
      [&](Pass& pass, const Sequences& sequences, const Batch& batch) {
        const std::vector<int32_t> rows = listed_rows(sequences, batch, member);
        return model.logits(pass, Hidden(select_rows(pass, model.hidden(pass, sequences).var(), rows))).var();
      },
      [&](const EncodedText& text) { return std::ssize(text.*member); }, take);
}

// The rows of the last layer; of an encoder-decoder, of its encoder's.
struct LastLayer {
  Pass& pass;
  const SourceSequences& texts;

  Hidden operator()(const EncoderOnly& model) const { return model.hidden(pass, texts); }
  Hidden operator()(const CausalLM& model) const { return model.hidden(pass, texts); }
  Hidden operator()(const Seq2Seq& model) const { return model.encode(pass, texts).hidden; }
};

// The rows of which embeddings are made: a first or a last token is one of the whole text.
struct PooledRows {
  Hidden rows;
  Segments texts;
};

PooledRows pooled_rows(Pass& pass, const Hidden& hidden, const Segments& texts, const Batch& batch, Pooling kind) {
  const bool all = kind == Pooling::first || kind == Pooling::last ||
                   std::ranges::all_of(batch, [](const EncodedText* text) { return text->unpooled == 0; });
  if (all) {
    return {hidden, texts};
  }
  std::vector<int32_t> rows;
  std::vector<int64_t> lengths;
  for (size_t s = 0; s < batch.size(); ++s) {
    const auto text = static_cast<int64_t>(s);
    lengths.push_back(texts.length(text) - batch[s]->unpooled);
    for (int64_t row = texts.begin(text) + batch[s]->unpooled; row < texts.end(text); ++row) {
      rows.push_back(static_cast<int32_t>(row));
    }
  }
  return {Hidden(select_rows(pass, hidden.var(), rows)), Segments(lengths)};
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

std::vector<std::vector<float>> head_scores(const TextReader& reader, std::span<const EncodedText> texts) {
  if (reader.model.config().head == Head::token_labels) {
    return scores_of_rows(reader, texts, &EncodedText::first_of_words, floats_of);
  }
  const EncoderOnly& model = reader.model.encoder_only();
  return read_all(
      reader, texts,
      [&](Pass& pass, const Sequences& sequences, const Batch&) {
        return model.logits(pass, model.pooled(pass, sequences)).var();
      },
      [](const EncodedText&) { return int64_t{1}; }, floats_of);
}

std::vector<std::vector<float>> embeddings(const TextReader& reader, std::span<const EncodedText> texts,
                                           std::optional<Pooling> pooling) {
  const ModelConfig& config = reader.model.config();
  const Pooling kind = pooling.value_or(config.text_pooling);
  return read_all(
      reader, texts,
      [&](Pass& pass, const SourceSequences& sequences, const Batch& batch) {
        const Hidden hidden = reader.model.visit(LastLayer{pass, sequences});
        const PooledRows pooled = pooled_rows(pass, hidden, sequences.segments(), batch, kind);
        return config.architecture == Architecture::encoder
                   ? reader.model.encoder_only().text_embeddings(pass, pooled.rows, pooled.texts, kind).var()
                   : pool(pass, pooled.rows.var(), pooled.texts, kind);
      },
      [](const EncodedText&) { return int64_t{1}; }, floats_of);
}

std::vector<std::vector<std::vector<TokenGuess>>> mask_guesses(const TextReader& reader,
                                                               std::span<const EncodedText> texts,
                                                               const GuessOptions& options) {
  return scores_of_rows(reader, texts, &EncodedText::masks, [&](ConstView rows) {
    std::vector<std::vector<TokenGuess>> masks;
    for (int64_t row = 0; row < rows.rows(); ++row) {
      masks.push_back(guesses_of(floats_of(rows.row_range(row, 1)), options));
    }
    return masks;
  });
}

}  // namespace heed
