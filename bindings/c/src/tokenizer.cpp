#include "heed/tokenizer.h"

#include <algorithm>
#include <memory>

#include "heed/version.h"
#include "model_options.h"

struct heed_tokenizer {
  heed::LoadedTokenizer tokenizer;
};

using namespace heed::c;

const char* heed_version() {
  static const std::string version = heed::version();
  return version.c_str();
}

heed_error* heed_tokenizer_open(const char* path, heed_tokenizer** tokenizer) {
  return guarded([&] {
    require_given(path, "path");
    require_given(static_cast<const void*>(tokenizer), "tokenizer");
    *tokenizer = std::make_unique<heed_tokenizer>(heed_tokenizer{heed::LoadedTokenizer(path)}).release();
  });
}

void heed_tokenizer_free(heed_tokenizer* tokenizer) { delete tokenizer; }

heed_error* heed_tokenizer_size(const heed_tokenizer* tokenizer, int64_t* tokens) {
  return guarded([&] { put(given(tokenizer, "tokenizer").tokenizer.summary().vocabulary, tokens, "tokens"); });
}

heed_error* heed_tokenizer_encode(const heed_tokenizer* tokenizer, const char* text, size_t length,
                                  const heed_options* options, int32_t** ids, size_t* count) {
  return guarded([&] {
    const heed::LoadedTokenizer& loaded = given(tokenizer, "tokenizer").tokenizer;
    require_given(static_cast<const void*>(ids), "ids");
    require_given(count, "count");
    using Edge = heed::EncodingOptions::Edge;
    heed::EncodingOptions encoding;
    OptionReader reader(options);
    reader.choice(HEED_MARK_BEGIN, encoding.begin, Edge::bare, Edge::marked);
    reader.choice(HEED_MARK_END, encoding.end, Edge::bare, Edge::marked);
    if (reader.has(HEED_MAX_TOKENS)) {
      reader.integer(HEED_MAX_TOKENS, encoding.max_length.emplace());
    }
    reader.named(HEED_TOO_LONG, encoding.too_long, kTooLongChoices);
    reader.finish();
    const auto found = loaded.encode(text_of(text, length, "text"), encoding).value();
    auto copy = std::make_unique<int32_t[]>(found.size());
    std::ranges::copy(found, copy.get());
    *ids = copy.release();
    *count = found.size();
  });
}

void heed_ids_free(int32_t* ids) { delete[] ids; }

heed_error* heed_tokenizer_decode(const heed_tokenizer* tokenizer, const int32_t* ids, size_t count, char** text,
                                  size_t* length) {
  return guarded([&] {
    const heed::LoadedTokenizer& loaded = given(tokenizer, "tokenizer").tokenizer;
    if (count > 0) {
      require_given(ids, "ids");
    }
    put_string(loaded.decode({ids, count}), text, length);
  });
}

heed_error* heed_tokenizer_piece(const heed_tokenizer* tokenizer, int32_t id, char** piece, size_t* length) {
  return guarded([&] { put_string(given(tokenizer, "tokenizer").tokenizer.piece(id), piece, length); });
}

heed_error* heed_tokenizer_id(const heed_tokenizer* tokenizer, const char* piece, size_t length, int32_t* id) {
  return guarded(
      [&] { put(given(tokenizer, "tokenizer").tokenizer.token(text_of(piece, length, "piece"), "piece"), id, "id"); });
}
