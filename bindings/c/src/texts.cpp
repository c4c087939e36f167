#include "texts.h"

namespace heed::c {

heed_token token_of(const ScoredToken& token) {
  heed_token found{token.piece, token.id, token.log_probability, token.text_offset, {}};
  found.likeliest.reserve(token.likeliest.size());
  for (const LikelyToken& likely : token.likeliest) {
    found.likeliest.push_back({likely.piece, likely.id, likely.log_probability, token.text_offset, {}});
  }
  return found;
}

std::vector<heed_token> tokens_of(const std::vector<ScoredToken>& tokens) {
  std::vector<heed_token> found;
  found.reserve(tokens.size());
  for (const ScoredToken& token : tokens) {
    found.push_back(token_of(token));
  }
  return found;
}

Callbacks::Callbacks(const heed_options& options)
    : options_(options), forward_(options.stop, [this] { source_.request_stop(); }) {}

void Callbacks::token(size_t input, size_t sample, const ScoredToken& token) {
  if (options_.on_token.function != nullptr) {
    const heed_token shown = token_of(token);
    call(options_.on_token, input, sample, &shown);
  }
}

void Callbacks::piece(size_t input, size_t sample, std::string_view piece) {
  if (options_.on_piece.function != nullptr) {
    const std::string terminated(piece);
    call(options_.on_piece, input, sample, terminated.c_str(), terminated.size());
  }
}

void Callbacks::text(size_t input, size_t sample, const std::string& text) {
  call(options_.on_text, input, sample, text.c_str(), text.size());
}

namespace {

const heed_texts::Sample& sample_at(const heed_texts* texts, size_t input, size_t sample) {
  return at(at(given(texts, "texts").inputs, input, "input"), sample, "sample");
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_error* heed_token_piece(const heed_token* token, const char** piece, size_t* length) {
  return guarded([&] { put_text(given(token, "token").piece, piece, length); });
}

heed_error* heed_token_id(const heed_token* token, int32_t* id) {
  return guarded([&] { put(given(token, "token").id, id, "id"); });
}

heed_error* heed_token_log_probability(const heed_token* token, double* log_probability) {
  return guarded([&] { put(given(token, "token").log_probability, log_probability, "log_probability"); });
}

heed_error* heed_token_offset(const heed_token* token, int64_t* offset) {
  return guarded([&] { put(given(token, "token").offset, offset, "offset"); });
}

heed_error* heed_token_likeliest_count(const heed_token* token, size_t* count) {
  return guarded([&] { put(given(token, "token").likeliest.size(), count, "count"); });
}

heed_error* heed_token_likeliest(const heed_token* token, size_t index, const heed_token** likely) {
  return guarded([&] { put(&at(given(token, "token").likeliest, index, "token"), likely, "likely"); });
}

void heed_texts_free(heed_texts* texts) { delete texts; }

heed_error* heed_texts_inputs(const heed_texts* texts, size_t* count) {
  return guarded([&] { put(given(texts, "texts").inputs.size(), count, "count"); });
}

heed_error* heed_texts_samples(const heed_texts* texts, size_t input, size_t* count) {
  return guarded([&] { put(at(given(texts, "texts").inputs, input, "input").size(), count, "count"); });
}

heed_error* heed_texts_text(const heed_texts* texts, size_t input, size_t sample, const char** text, size_t* length) {
  return guarded([&] { put_text(sample_at(texts, input, sample).text, text, length); });
}

heed_error* heed_texts_score(const heed_texts* texts, size_t input, size_t sample, double* score) {
  return guarded([&] { put(sample_at(texts, input, sample).score, score, "score"); });
}

heed_error* heed_texts_log_probability(const heed_texts* texts, size_t input, size_t sample, double* log_probability) {
  return guarded([&] { put(sample_at(texts, input, sample).log_probability, log_probability, "log_probability"); });
}

heed_error* heed_texts_token_count(const heed_texts* texts, size_t input, size_t sample, int64_t* count) {
  return guarded([&] { put(sample_at(texts, input, sample).tokens, count, "count"); });
}

heed_error* heed_texts_reason(const heed_texts* texts, size_t input, size_t sample, const char** reason) {
  return guarded([&] { put_text(sample_at(texts, input, sample).reason, reason, nullptr); });
}

heed_error* heed_texts_tokens(const heed_texts* texts, size_t input, size_t sample, size_t* count) {
  return guarded([&] { put(sample_at(texts, input, sample).each.size(), count, "count"); });
}

heed_error* heed_texts_token(const heed_texts* texts, size_t input, size_t sample, size_t index,
                             const heed_token** token) {
  return guarded([&] { put(&at(sample_at(texts, input, sample).each, index, "token"), token, "token"); });
}

heed_error* heed_texts_alignment(const heed_texts* texts, size_t input, size_t sample, const int64_t** pairs,
                                 size_t* count) {
  return guarded([&] {
    const std::vector<int64_t>& found = sample_at(texts, input, sample).alignment;
    require_given(count, "count");
    put(found.data(), pairs, "pairs");
    *count = found.size() / 2;
  });
}
