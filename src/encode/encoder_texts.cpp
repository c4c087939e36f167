#include "encode/encoder_texts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "kernels/host_copy.h"
#include "ops/rows/select_rows.h"
#include "text/lines/text_pair.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr int64_t kReadingTokens = 2048;  // about this many in one pass

// As the tokenizer's file has it, or heed's own form: `begin a end`, `begin a separator b end`.
std::vector<FramePart> reading_frame(const Tokenizer& tokenizer, int texts) {
  if (const std::span<const FramePart> own = tokenizer.frame(texts); !own.empty()) {
    return {own.begin(), own.end()};
  }
  const SpecialTokens& special = tokenizer.special();
  require<FormatError>(special.eos != kNoToken, "tokenizer", "it has no eos, which ends a text");
  const TokenId begin = special.bos == kNoToken ? special.eos : special.bos;
  const TokenId separator = special.sep == kNoToken ? special.eos : special.sep;
  if (texts == 1) {
    return {{.token = begin}, {.text = 0}, {.token = special.eos}};
  }
  return {
      {.token = begin}, {.text = 0}, {.token = separator}, {.text = 1, .type = 1}, {.token = special.eos, .type = 1}};
}

size_t tokens_of(std::span<const FramePart> frame) {
  return static_cast<size_t>(std::ranges::count(frame, FramePart::kToken, &FramePart::text));
}

// Takes tokens from the longer side until both fit.
void cut_to(size_t room, std::vector<int32_t>& first, std::vector<int32_t>& second) {
  while (first.size() + second.size() > room) {
    (first.size() >= second.size() ? first : second).pop_back();
  }
}

// Batches of similar lengths, longest first.
std::vector<std::vector<size_t>> reading_batches(std::span<const EncodedText> texts) {
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return texts[i].ids.size(); });
  std::vector<std::vector<size_t>> batches;
  int64_t tokens = 0;
  for (const size_t i : order) {
    const auto more = static_cast<int64_t>(texts[i].ids.size());
    if (batches.empty() || tokens + more > kReadingTokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += more;
  }
  return batches;
}

std::vector<float> floats_of(const ConstView& row) {
  std::vector<float> values;
  for (int64_t r = 0; r < row.rows(); ++r) {
    for (int64_t c = 0; c < row.columns(); ++c) {
      values.push_back(row.type() == DType::bf16 ? static_cast<float>(host<bf16>(row)(r, c)) : host<float>(row)(r, c));
    }
  }
  return values;
}

// Reads all texts: make(pass, sequences, texts of the batch) gives a matrix, of whose rows rows_of(text) belong to each
// text.
template <class Make, class RowsOf>
std::vector<std::vector<float>> read_all(const TextReader& reader, std::span<const EncodedText> texts, Make make,
                                         RowsOf rows_of) {
  const std::vector<std::vector<size_t>> batches = reading_batches(texts);
  std::vector<std::vector<float>> found(texts.size());
  reader.lanes.run(batches.size(), [&](size_t task, Backend& backend) {
    std::vector<const EncodedText*> batch;
    std::ranges::transform(batches[task], std::back_inserter(batch), [&](size_t i) { return &texts[i]; });
    Pass pass = Pass::infer(backend, reader.storage);
    const Sequences sequences = sequences_of(batch, reader.model.config().token_types);
    const Var result = make(pass, sequences, batch);
    const HostCopy on_host(backend, result.value());
    int64_t row = 0;
    for (const size_t i : batches[task]) {
      const int64_t rows = rows_of(texts[i]);
      found[i] = floats_of(on_host.view().row_range(row, rows));
      row += rows;
    }
  });
  return found;
}

// The rows of words' first tokens in a batch.
std::vector<int32_t> word_rows(const Sequences& sequences, const std::vector<const EncodedText*>& batch) {
  std::vector<int32_t> rows;
  for (size_t s = 0; s < batch.size(); ++s) {
    for (const int32_t row : batch[s]->first_of_words) {
      rows.push_back(static_cast<int32_t>(sequences.segments().begin(static_cast<int64_t>(s))) + row);
    }
  }
  return rows;
}

}  // namespace

EncodedText encode_text_or_pair(const Tokenizer& tokenizer, const TextOrPair& text, int64_t max_length,
                                TooLong too_long, const std::string& where) {
  const std::vector<FramePart> frame = reading_frame(tokenizer, text.second == nullptr ? 1 : 2);
  require_text(text.first, where);
  std::vector<int32_t> first = ids_of(tokenizer.encode(text.first)), second;
  if (text.second != nullptr) {
    require_text(*text.second, where);
    second = ids_of(tokenizer.encode(*text.second));
  }
  const size_t around = tokens_of(frame);
  const auto most = static_cast<size_t>(max_length);
  require<FormatError>(most > around, where, "the model takes {} tokens, of which special tokens alone need {}", most,
                       around);
  require<FormatError>(too_long == TooLong::truncate || first.size() + second.size() + around <= most, where,
                       "{} tokens with special tokens, but the model takes at most {}",
                       first.size() + second.size() + around, most);
  cut_to(most - around, first, second);
  EncodedText encoded;
  for (const FramePart& part : frame) {
    if (part.text == FramePart::kToken) {
      encoded.ids.push_back(part.token.value);
    } else {
      const std::vector<int32_t>& ids = part.text == 0 ? first : second;
      encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
    }
    encoded.types.resize(encoded.ids.size(), part.type);
  }
  return encoded;
}

EncodedText encode_line(const Tokenizer& tokenizer, const std::string& line, TextColumns columns, int64_t max_length,
                        TooLong too_long, const std::string& where) {
  if (columns == TextColumns::one) {
    return encode_text_or_pair(tokenizer, {line}, max_length, too_long, where);
  }
  const TextPair pair = split_pair(line, where);
  return encode_text_or_pair(tokenizer, {pair.first, &pair.second}, max_length, too_long, where);
}

EncodedText encode_words(const Tokenizer& tokenizer, std::span<const std::string> words, int64_t max_length,
                         const std::string& where) {
  require<FormatError>(!words.empty(), where, "has no word to label");
  EncodedText encoded;
  const auto add_words = [&] {
    for (const std::string& word : words) {
      require_text(word, where);
      encoded.first_of_words.push_back(static_cast<int32_t>(encoded.ids.size()));
      const std::vector<int32_t> ids = ids_of(tokenizer.encode(&word == words.data() ? word : " " + word));
      encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
      if (ids.empty()) {
        encoded.ids.push_back(tokenizer.special().unk.value);
      }
    }
  };
  for (const FramePart& part : reading_frame(tokenizer, 1)) {
    if (part.text == FramePart::kToken) {
      encoded.ids.push_back(part.token.value);
    } else {
      add_words();
    }
  }
  require<FormatError>(static_cast<int64_t>(encoded.ids.size()) <= max_length, where,
                       "{} tokens with special tokens, but the model takes at most {}: split the sentence",
                       encoded.ids.size(), max_length);
  encoded.types.resize(encoded.ids.size(), 0);
  return encoded;
}

Sequences sequences_of(std::span<const EncodedText* const> texts, int64_t token_types, uint64_t first_row) {
  std::vector<int32_t> ids, types;
  std::vector<int64_t> lengths;
  for (const EncodedText* text : texts) {
    ids.insert(ids.end(), text->ids.begin(), text->ids.end());
    types.insert(types.end(), text->types.begin(), text->types.end());
    lengths.push_back(static_cast<int64_t>(text->ids.size()));
  }
  Sequences sequences(std::move(ids), Segments(lengths, first_row));
  if (token_types > 0) {
    sequences.set_types(std::move(types));
  }
  return sequences;
}

std::vector<std::vector<float>> head_scores(const TextReader& reader, std::span<const EncodedText> texts) {
  const EncoderOnly& model = reader.model.encoder_only();
  if (reader.model.config().head == Head::token_labels) {
    return read_all(
        reader, texts,
        [&](Pass& pass, const Sequences& sequences, const std::vector<const EncodedText*>& batch) {
          const Hidden words(select_rows(pass, model.hidden(pass, sequences).var(), word_rows(sequences, batch)));
          return model.logits(pass, words).var();
        },
        [](const EncodedText& text) { return static_cast<int64_t>(text.first_of_words.size()); });
  }
  return read_all(
      reader, texts,
      [&](Pass& pass, const Sequences& sequences, const auto&) {
        return model.logits(pass, model.pooled(pass, sequences)).var();
      },
      [](const EncodedText&) { return int64_t{1}; });
}

std::vector<std::vector<float>> embeddings(const TextReader& reader, std::span<const EncodedText> texts,
                                           std::optional<Pooling> pooling) {
  const EncoderOnly& model = reader.model.encoder_only();
  const Pooling kind = pooling.value_or(reader.model.config().text_pooling);
  return read_all(
      reader, texts,
      [&](Pass& pass, const Sequences& sequences, const auto&) {
        return model.text_embeddings(pass, sequences, kind).var();
      },
      [](const EncodedText&) { return int64_t{1}; });
}

}  // namespace heed
