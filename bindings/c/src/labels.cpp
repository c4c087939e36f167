#include "labels.h"

#include "error.h"

namespace heed::c {
namespace {

const TextLabels& labels_at(const heed_labels* labels, size_t text, size_t word) {
  return at(at(given(labels, "labels").texts, text, "text"), word, "word");
}

const FilledText& filled_at(const heed_guesses* guesses, size_t text) {
  return at(given(guesses, "guesses").texts, text, "text");
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

void heed_labels_free(heed_labels* labels) { delete labels; }

heed_error* heed_labels_texts(const heed_labels* labels, size_t* count) {
  return guarded([&] { put(given(labels, "labels").texts.size(), count, "count"); });
}

heed_error* heed_labels_words(const heed_labels* labels, size_t text, size_t* count) {
  return guarded([&] { put(at(given(labels, "labels").texts, text, "text").size(), count, "count"); });
}

heed_error* heed_labels_chosen(const heed_labels* labels, size_t text, size_t word, size_t* count) {
  return guarded([&] { put(labels_at(labels, text, word).labels.size(), count, "count"); });
}

heed_error* heed_labels_label(const heed_labels* labels, size_t text, size_t word, size_t index, const char** label,
                              size_t* length) {
  return guarded([&] { put_text(at(labels_at(labels, text, word).labels, index, "label"), label, length); });
}

heed_error* heed_labels_scores(const heed_labels* labels, size_t text, size_t word, size_t* count) {
  return guarded([&] { put(labels_at(labels, text, word).scores.size(), count, "count"); });
}

heed_error* heed_labels_score(const heed_labels* labels, size_t text, size_t word, size_t index, const char** label,
                              size_t* length, double* probability) {
  return guarded([&] {
    const heed::LabelScore& found = at(labels_at(labels, text, word).scores, index, "score");
    require_given(probability, "probability");
    put_text(found.label, label, length);
    *probability = found.probability;
  });
}

heed_error* heed_labels_number(const heed_labels* labels, size_t text, size_t word, double* number) {
  return guarded([&] { put(labels_at(labels, text, word).number, number, "number"); });
}

void heed_guesses_free(heed_guesses* guesses) { delete guesses; }

heed_error* heed_guesses_texts(const heed_guesses* guesses, size_t* count) {
  return guarded([&] { put(given(guesses, "guesses").texts.size(), count, "count"); });
}

heed_error* heed_guesses_text(const heed_guesses* guesses, size_t text, const char** filled, size_t* length) {
  return guarded([&] { put_text(filled_at(guesses, text).text, filled, length); });
}

heed_error* heed_guesses_masks(const heed_guesses* guesses, size_t text, size_t* count) {
  return guarded([&] { put(filled_at(guesses, text).masks.size(), count, "count"); });
}

heed_error* heed_guesses_count(const heed_guesses* guesses, size_t text, size_t mask, size_t* count) {
  return guarded([&] { put(at(filled_at(guesses, text).masks, mask, "mask").size(), count, "count"); });
}

heed_error* heed_guesses_guess(const heed_guesses* guesses, size_t text, size_t mask, size_t index, const char** token,
                               size_t* length, int32_t* id, double* probability) {
  return guarded([&] {
    const heed::MaskGuess& found = at(at(filled_at(guesses, text).masks, mask, "mask"), index, "guess");
    require_given(id, "id");
    require_given(probability, "probability");
    put_text(found.token, token, length);
    *id = found.id;
    *probability = found.probability;
  });
}
