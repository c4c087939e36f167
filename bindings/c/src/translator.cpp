#include "heed/translator.h"

#include <algorithm>
#include <memory>

#include "attention.h"
#include "model_options.h"
#include "texts.h"

struct heed_translator {
  heed::Translator model;
};

namespace heed::c {
namespace {

void read_languages(OptionReader& options, LanguagePair& languages) {
  options.text(HEED_SOURCE_LANGUAGE, languages.source);
  options.text(HEED_TARGET_LANGUAGE, languages.target);
}

TranslationOptions translation_options(const Translator& model, OptionReader& options) {
  TranslationOptions found = model.with_defaults();
  options.integer(HEED_BEAM, found.beam);
  options.integer(HEED_SAMPLES, found.n_best);
  options.integer(HEED_MAX_TOKENS, found.max_length);
  read_rules(options, found.rules);
  options.texts(HEED_FORCE, found.force);
  options.real(HEED_REPETITION_PENALTY, found.repetition_penalty);
  options.choice(HEED_LIST_TOKENS, found.each, EachToken::left_out, EachToken::listed);
  options.integer(HEED_LIKELIEST, found.likeliest);
  options.real(HEED_LENGTH_PENALTY, found.length_penalty);
  options.choice(HEED_ALIGNMENTS, found.alignments, Alignments::none, Alignments::pieces);
  options.texts(HEED_PREFIX, found.prefixes);
  options.integer(HEED_GROUPS, found.groups);
  options.real(HEED_DIVERSITY, found.diversity);
  options.real(HEED_COVERAGE_PENALTY, found.coverage_penalty);
  options.real(HEED_PATIENCE, found.patience);
  options.named(HEED_EARLY_STOPPING, found.early_stopping, kEarlyStoppingNames);
  options.integer(HEED_ALTERNATIVES, found.alternatives);
  options.named(HEED_UNKNOWN_WORDS, found.unknown, kUnknownWordsNames);
  read_languages(options, found.languages);
  options.interruption(found.interruption);
  options.sharing(found.sharing);
  return found;
}

class Translations : public TranslationListener {
 public:
  explicit Translations(const heed_options& options) : callbacks(options) {}
  void on_token(size_t line, const ScoredToken& token) override { callbacks.token(line, 0, token); }
  void on_piece(size_t line, std::string_view piece) override { callbacks.piece(line, 0, piece); }
  void on_translations(size_t line, std::span<const Translation> translations) override {
    for (size_t i = 0; i < translations.size(); ++i) {
      callbacks.text(line, i, translations[i].text);
    }
  }

  Callbacks callbacks;
};

heed_texts::Sample sample_of_translation(const Translation& translation) {
  heed_texts::Sample found{translation.text, translation.score, translation.log_probability, translation.tokens};
  found.each = tokens_of(translation.each);
  found.alignment.reserve(translation.alignment.size() * 2);
  for (const AlignedPair& pair : translation.alignment) {
    found.alignment.push_back(pair.source);
    found.alignment.push_back(pair.target);
  }
  return found;
}

std::unique_ptr<heed_texts> translations_of(const std::vector<std::vector<Translation>>& lines) {
  auto found = std::make_unique<heed_texts>();
  found->inputs.resize(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::ranges::transform(lines[i], std::back_inserter(found->inputs[i]), sample_of_translation);
  }
  return found;
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_error* heed_translator_open(const char* directory, const heed_options* options, heed_translator** translator) {
  return guarded([&] {
    require_given(directory, "directory");
    require_given(static_cast<const void*>(translator), "translator");
    OptionReader reader(options);
    heed::InferenceOptions inference = inference_options(reader);
    add_writing_options(reader, inference);
    const heed::DraftOptions drafts = draft_options(reader);
    std::string shortlist;
    reader.text(HEED_SHORTLIST, shortlist);
    reader.finish();
    *translator =
        std::make_unique<heed_translator>(heed_translator{heed::Translator(directory, inference, drafts, shortlist)})
            .release();
  });
}

void heed_translator_free(heed_translator* translator) { delete translator; }

heed_error* heed_translator_max_length(const heed_translator* translator, int64_t* tokens) {
  return guarded([&] { put(given(translator, "translator").model.max_length(), tokens, "tokens"); });
}

heed_error* heed_translator_threads(const heed_translator* translator, int* threads) {
  return guarded([&] { put(given(translator, "translator").model.threads(), threads, "threads"); });
}

heed_error* heed_translator_translate(const heed_translator* translator, const char* const* lines,
                                      const size_t* lengths, size_t count, const heed_options* options,
                                      heed_texts** translations) {
  return guarded([&] {
    const heed::Translator& model = given(translator, "translator").model;
    require_given(static_cast<const void*>(translations), "translations");
    OptionReader reader(options);
    heed::TranslationOptions found = translation_options(model, reader);
    Translations listener(reader.callbacks());
    reader.finish();
    found.interruption.stop = listener.callbacks.stop();
    const std::vector<std::string> texts = texts_of(lines, lengths, count, "lines");
    // Pieces are decoded for a listener, which takes time that is saved where nobody hears them.
    Translations* const heard = listener.callbacks.are_given() ? &listener : nullptr;
    std::unique_ptr<heed_texts> all = translations_of(model.translate(texts, found, {}, heard));
    // Also where all was done when a callback wanted it to end.
    if (listener.callbacks.has_stopped()) {
      throw heed::InterruptedError("translate: the callback stopped it");
    }
    *translations = all.release();
  });
}

heed_error* heed_translator_score(const heed_translator* translator, const char* const* sources,
                                  const size_t* source_lengths, const char* const* targets,
                                  const size_t* target_lengths, size_t count, const heed_options* options,
                                  double* log_probabilities, int64_t* tokens) {
  return guarded([&] {
    const heed::Translator& model = given(translator, "translator").model;
    OptionReader reader(options);
    heed::LanguagePair languages;
    read_languages(reader, languages);
    reader.finish();
    const std::vector<std::string> source = texts_of(sources, source_lengths, count, "sources");
    const std::vector<std::string> target = texts_of(targets, target_lengths, count, "targets");
    if (count > 0) {
      require_given(log_probabilities, "log_probabilities");
    }
    const std::vector<heed::PairScore> scores = model.score({source, target}, {}, languages);
    for (size_t i = 0; i < scores.size(); ++i) {
      log_probabilities[i] = scores[i].log_probability;
      if (tokens != nullptr) {
        tokens[i] = scores[i].tokens;
      }
    }
  });
}

heed_error* heed_translator_attention(const heed_translator* translator, const char* line, size_t line_length,
                                      const char* translation, size_t translation_length, const heed_options* options,
                                      heed_attention** attention) {
  return guarded([&] {
    const heed::Translator& model = given(translator, "translator").model;
    require_given(static_cast<const void*>(attention), "attention");
    OptionReader reader(options);
    const heed::AttentionRequest request = attention_request(reader, heed::AttentionKind::cross);
    heed::LanguagePair languages;
    read_languages(reader, languages);
    reader.finish();
    const std::string source(text_of(line, line_length, "line"));
    const std::string target(text_of(translation, translation_length, "translation"));
    *attention =
        std::make_unique<heed_attention>(heed_attention{model.attention(source, target, request, languages)}).release();
  });
}
