#include "serve/libretranslate/text_pieces.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "serve/libretranslate/piece_spans.h"
#include "serve/request_error.h"
#include "text/html/html_text.h"
#include "text/sentences/sentences.h"

namespace heed::serve {
namespace {

// A sentence with its translations, best first.
struct TranslatedSentence {
  std::string source;
  std::vector<Translation> translations;

  const Translation& best(size_t rank) const { return translations[std::min(rank, translations.size() - 1)]; }
};

// A plain text, or a text within HTML, as sentences.
struct SplitText {
  std::string text;
  std::vector<TextSpan> sentences;
  size_t first = 0;  // of all sentences

  std::string with(const std::vector<TranslatedSentence>& all, size_t rank) const {
    std::vector<std::string> replacements;
    replacements.reserve(sentences.size());
    for (size_t i = 0; i < sentences.size(); ++i) {
      replacements.push_back(all[first + i].best(rank).text);
    }
    return with_spans_replaced(text, sentences, replacements);
  }
};

TextSpan moved(TextSpan span, size_t by) { return {span.begin + by, span.end + by}; }

// Which parts of a sentence and of its best translation belong together.
std::vector<AlignedSpans> spans_of(const Translator& translator, const TranslatedSentence& sentence) {
  const Translation& best = sentence.best(0);
  std::vector<std::string> target_pieces;
  std::ranges::transform(best.each, std::back_inserter(target_pieces), &ScoredToken::piece);
  const std::vector<TextSpan> sources = piece_spans(translator.source_pieces(sentence.source), sentence.source);
  const std::vector<TextSpan> targets = piece_spans(target_pieces, best.text);
  std::vector<AlignedSpans> spans;
  for (const AlignedPair& pair : best.alignment) {
    const auto source = static_cast<size_t>(pair.source), target = static_cast<size_t>(pair.target);
    if (source < sources.size() && target < targets.size() && !sources[source].empty() && !targets[target].empty()) {
      spans.push_back({sources[source], targets[target]});
    }
  }
  return spans;
}

class LongTexts {
 public:
  LongTexts(const Translator& translator, const std::string& source) : translator_(translator), splitter_(source) {}

  void add(std::string text) {
    const SentenceLimit limit{.most = translator_.max_length(), .tokens = [this](std::string_view part) {
                                return std::ssize(translator_.source_pieces(std::string(part)));
                              }};
    std::vector<TextSpan> sentences = splitter_.split(text, limit);
    const size_t first = sentences_.size();
    for (const TextSpan& sentence : sentences) {
      sentences_.emplace_back(sentence.in(text));
    }
    texts_.push_back({std::move(text), std::move(sentences), first});
  }

  void translate(const TranslationOptions& search, int64_t most_sequences) {
    if (std::ssize(sentences_) * search.beam > most_sequences) {
      refuse_field("q", "has {} sentences, at most {} are translated at once", sentences_.size(),
                   most_sequences / search.beam);
    }
    std::vector<std::vector<Translation>> found = translator_.translate(sentences_, search);
    for (size_t i = 0; i < found.size(); ++i) {
      const Translation& best = found[i].front();
      read_ += best.source_tokens;
      if (best.first_token) {
        first_token_ = std::min(first_token_.value_or(*best.first_token), *best.first_token);
      }
      for (const Translation& translation : found[i]) {
        written_ += translation.tokens;
      }
      translated_.push_back({sentences_[i], std::move(found[i])});
    }
  }
  LongTranslations with_counts(std::vector<TranslatedLongText> texts) const {
    return {std::move(texts), read_, written_, first_token_};
  }

  std::string text(size_t number, size_t rank) const { return texts_[number].with(translated_, rank); }

  // A text with the alignments of its sentences, moved to where these stand in it.
  TranslatedText aligned(size_t number) const {
    const SplitText& split = texts_[number];
    TranslatedText result{.text = split.with(translated_, 0)};
    size_t before = 0, before_translated = 0;
    for (size_t i = 0; i < split.sentences.size(); ++i) {
      const TextSpan& sentence = split.sentences[i];
      const TranslatedSentence& translated = translated_[split.first + i];
      before_translated += sentence.begin - before;
      for (const AlignedSpans& spans : spans_of(translator_, translated)) {
        result.alignment.push_back({moved(spans.source, sentence.begin), moved(spans.target, before_translated)});
      }
      before_translated += translated.best(0).text.size();
      before = sentence.end;
    }
    return result;
  }

 private:
  const Translator& translator_;
  SentenceSplitter splitter_;
  std::vector<SplitText> texts_;
  std::vector<std::string> sentences_;  // of all texts
  std::vector<TranslatedSentence> translated_;
  int64_t read_ = 0, written_ = 0;  // tokens
  std::optional<std::chrono::steady_clock::time_point> first_token_;
};

LongTranslations translate_plain(const Translator& translator, const std::string& source,
                                 const std::vector<std::string>& texts, const LongTextOptions& options) {
  LongTexts all(translator, source);
  for (const std::string& text : texts) {
    all.add(text);
  }
  TranslationOptions search = options.search;
  search.n_best = std::max(search.n_best, options.alternatives + 1);
  search.beam = std::max(search.beam, search.n_best);
  all.translate(search, options.most_sequences);
  std::vector<TranslatedLongText> results;
  for (size_t i = 0; i < texts.size(); ++i) {
    TranslatedLongText& result = results.emplace_back(TranslatedLongText{all.text(i, 0), {}});
    for (size_t rank = 1; rank <= static_cast<size_t>(options.alternatives); ++rank) {
      std::string other = all.text(i, rank);
      if (other != result.text && std::ranges::find(result.alternatives, other) == result.alternatives.end()) {
        result.alternatives.push_back(std::move(other));
      }
    }
  }
  return all.with_counts(std::move(results));
}

LongTranslations translate_html(const Translator& translator, const std::string& source,
                                const std::vector<std::string>& texts, const LongTextOptions& options) {
  LongTexts all(translator, source);
  std::vector<HtmlText> fragments;
  for (const std::string& text : texts) {
    for (const std::string& part : fragments.emplace_back(text).texts()) {
      all.add(part);
    }
  }
  TranslationOptions search = options.search;
  search.alignments = Alignments::pieces;
  search.each = EachToken::listed;
  all.translate(search, options.most_sequences);
  std::vector<TranslatedLongText> results;
  size_t next = 0;
  for (const HtmlText& fragment : fragments) {
    std::vector<TranslatedText> parts;
    for (size_t i = 0; i < fragment.texts().size(); ++i) {
      parts.push_back(all.aligned(next++));
    }
    results.push_back({fragment.with(parts), {}});
  }
  return all.with_counts(std::move(results));
}

}  // namespace

LongTranslations translate_long_texts(const Translator& translator, const std::string& source,
                                      const std::vector<std::string>& texts, const LongTextOptions& options) {
  return options.format == TextFormat::html ? translate_html(translator, source, texts, options)
                                            : translate_plain(translator, source, texts, options);
}

}  // namespace heed::serve
