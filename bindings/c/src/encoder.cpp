#include "heed/encoder.h"

#include <algorithm>
#include <memory>

#include "attention.h"
#include "labels.h"
#include "model_options.h"

struct heed_encoder {
  heed::Encoder model;
};

namespace heed::c {
namespace {

// Texts that come in, alone or in pairs.
struct ReadTexts {
  const char* const* texts;
  const size_t* lengths;
  const char* const* seconds;
  const size_t* second_lengths;
  size_t count;

  template <class Read>
  auto each_by(const Read& read) const {
    std::vector<std::string> first = texts_of(texts, lengths, count, "texts");
    if (seconds == nullptr) {
      return read(std::span<const std::string>(first));
    }
    std::vector<std::string> second = texts_of(seconds, second_lengths, count, "seconds");
    std::vector<TextPair> pairs(count);
    for (size_t i = 0; i < count; ++i) {
      pairs[i] = {std::move(first[i]), std::move(second[i])};
    }
    return read(std::span<const TextPair>(pairs));
  }
};

ReadingOptions reading_options(OptionReader& options) {
  ReadingOptions reading;
  options.interruption(reading.interruption);
  options.sharing(reading.sharing);
  return reading;
}

TextEmbeddingOptions embedding_options(OptionReader& options) {
  TextEmbeddingOptions found;
  if (options.has(HEED_POOLING)) {
    options.named(HEED_POOLING, found.pooling.emplace(), kPoolingNames);
  }
  if (options.has(HEED_NORMALIZE)) {
    options.choice(HEED_NORMALIZE, found.normalized.emplace(), Normalized::no, Normalized::yes);
  }
  options.text(HEED_PROMPT, found.prompt);
  options.text(HEED_PROMPT_NAME, found.prompt_name);
  return found;
}

std::vector<std::vector<std::string>> sentences_of(std::vector<std::string> words, const size_t* counts, size_t count) {
  std::vector<std::vector<std::string>> sentences(count);
  auto next = words.begin();
  for (size_t i = 0; i < count; ++i) {
    const auto end = next + static_cast<ptrdiff_t>(counts[i]);
    sentences[i].assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
  return sentences;
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_error* heed_encoder_open(const char* directory, const heed_options* options, heed_encoder** encoder) {
  return guarded([&] {
    require_given(directory, "directory");
    require_given(static_cast<const void*>(encoder), "encoder");
    OptionReader reader(options);
    const heed::InferenceOptions inference = inference_options(reader);
    reader.finish();
    *encoder = std::make_unique<heed_encoder>(heed_encoder{heed::Encoder(directory, inference)}).release();
  });
}

void heed_encoder_free(heed_encoder* encoder) { delete encoder; }

heed_error* heed_encoder_max_length(const heed_encoder* encoder, int64_t* tokens) {
  return guarded([&] { put(given(encoder, "encoder").model.max_length(), tokens, "tokens"); });
}

heed_error* heed_encoder_threads(const heed_encoder* encoder, int* threads) {
  return guarded([&] { put(given(encoder, "encoder").model.threads(), threads, "threads"); });
}

heed_error* heed_encoder_width(const heed_encoder* encoder, size_t* width) {
  return guarded([&] { put(given(encoder, "encoder").model.embedding_width(), width, "width"); });
}

heed_error* heed_encoder_embed(const heed_encoder* encoder, const char* const* texts, const size_t* lengths,
                               const char* const* seconds, const size_t* second_lengths, size_t count,
                               const heed_options* options, float* embeddings, size_t capacity) {
  return guarded([&] {
    const heed::Encoder& model = given(encoder, "encoder").model;
    OptionReader reader(options);
    const heed::ReadingOptions reading = reading_options(reader);
    const heed::TextEmbeddingOptions choice = embedding_options(reader);
    reader.finish();
    if (count > 0) {
      require_given(embeddings, "embeddings");
    }
    const auto width = static_cast<size_t>(model.embedding_width());
    if (count > capacity / width) {
      throw ArgumentError("embeddings has room for " + std::to_string(capacity) + " numbers, but " +
                          std::to_string(count) + " texts have " + std::to_string(width) + " each");
    }
    const ReadTexts all{texts, lengths, seconds, second_lengths, count};
    float* out = embeddings;
    for (const std::vector<float>& row :
         all.each_by([&](auto some) { return model.embed(some, choice, {}, reading); })) {
      out = std::ranges::copy(row, out).out;
    }
  });
}

heed_error* heed_encoder_classify(const heed_encoder* encoder, const char* const* texts, const size_t* lengths,
                                  const char* const* seconds, const size_t* second_lengths, size_t count,
                                  const heed_options* options, heed_labels** labels) {
  return guarded([&] {
    const heed::Encoder& model = given(encoder, "encoder").model;
    require_given(static_cast<const void*>(labels), "labels");
    OptionReader reader(options);
    const heed::ReadingOptions reading = reading_options(reader);
    reader.finish();
    const ReadTexts all{texts, lengths, seconds, second_lengths, count};
    auto found = std::make_unique<heed_labels>();
    for (heed::TextLabels& text : all.each_by([&](auto some) { return model.classify(some, {}, reading); })) {
      found->texts.emplace_back().push_back(std::move(text));
    }
    *labels = found.release();
  });
}

heed_error* heed_encoder_tag(const heed_encoder* encoder, const char* const* words, const size_t* lengths,
                             const size_t* word_counts, size_t count, const heed_options* options,
                             heed_labels** labels) {
  return guarded([&] {
    const heed::Encoder& model = given(encoder, "encoder").model;
    require_given(static_cast<const void*>(labels), "labels");
    OptionReader reader(options);
    const heed::ReadingOptions reading = reading_options(reader);
    reader.finish();
    if (count > 0) {
      require_given(word_counts, "word_counts");
    }
    size_t all = 0;
    for (size_t i = 0; i < count; ++i) {
      all += word_counts[i];
    }
    const auto sentences = sentences_of(texts_of(words, lengths, all, "words"), word_counts, count);
    *labels = std::make_unique<heed_labels>(heed_labels{model.tag_scores(sentences, {}, reading)}).release();
  });
}

heed_error* heed_encoder_attention(const heed_encoder* encoder, const char* text, size_t length,
                                   const heed_options* options, heed_attention** attention) {
  return guarded([&] {
    const heed::Encoder& model = given(encoder, "encoder").model;
    require_given(static_cast<const void*>(attention), "attention");
    OptionReader reader(options);
    const heed::AttentionRequest request = attention_request(reader, heed::AttentionKind::encoder);
    reader.finish();
    const std::string read(text_of(text, length, "text"));
    *attention = std::make_unique<heed_attention>(heed_attention{model.attention(read, request)}).release();
  });
}

heed_error* heed_encoder_fill(const heed_encoder* encoder, const char* const* texts, const size_t* lengths,
                              size_t count, const heed_options* options, heed_guesses** guesses) {
  return guarded([&] {
    const heed::Encoder& model = given(encoder, "encoder").model;
    require_given(static_cast<const void*>(guesses), "guesses");
    OptionReader reader(options);
    const heed::ReadingOptions reading = reading_options(reader);
    heed::FillOptions fill;
    reader.integer(HEED_GUESSES, fill.top);
    reader.text(HEED_MASK, fill.mask);
    reader.finish();
    const std::vector<std::string> read = texts_of(texts, lengths, count, "texts");
    *guesses = std::make_unique<heed_guesses>(heed_guesses{model.fill(read, fill, {}, reading)}).release();
  });
}
