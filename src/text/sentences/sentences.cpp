#include "text/sentences/sentences.h"

#include <unicode/filteredbrk.h>

#include <limits>

#include "base/errors.h"
#include "text/sentences/break_iterator.h"
#include "text/sentences/long_sentences.h"
#include "text/sentences/sentence_breaks.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

// After a line's characters: how many bytes its break has, 0 for none.
size_t line_break_at(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  return rest.starts_with("\r\n")                                                   ? 2
         : rest[0] == '\n' || rest[0] == '\r' || rest[0] == '\v' || rest[0] == '\f' ? 1
         : rest.starts_with("\u0085")                                               ? 2
         : rest.starts_with("\u2028") || rest.starts_with("\u2029")                 ? 3
                                                                                    : 0;
}

}  // namespace

struct SentenceSplitter::Iterators {
  std::unique_ptr<icu::BreakIterator> sentences, lines, characters;
  SentenceMarks marks;
};

SentenceSplitter::SentenceSplitter(std::string_view language) {
  const icu::Locale locale = icu::Locale::createCanonical(std::string(language).c_str());
  const std::string_view code = locale.getLanguage();
  auto iterators = std::make_unique<Iterators>();
  iterators->marks = sentence_marks(code);
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::BreakIterator> plain(icu::BreakIterator::createSentenceInstance(locale, status));
  iterators->lines.reset(icu::BreakIterator::createLineInstance(locale, status));
  iterators->characters.reset(icu::BreakIterator::createCharacterInstance(locale, status));
  require_icu(status, "break iterators");
  // ICU knows abbreviations of a few languages.
  const std::unique_ptr<icu::FilteredBreakIteratorBuilder> builder(
      icu::FilteredBreakIteratorBuilder::createInstance(locale, status));
  if (U_SUCCESS(status)) {
    iterators->sentences.reset(builder->wrapIteratorWithFilter(plain.release(), status));
    require_icu(status, "abbreviations");
  } else {
    iterators->sentences = std::move(plain);
  }
  iterators_ = std::move(iterators);
}

SentenceSplitter::~SentenceSplitter() = default;

std::vector<TextSpan> SentenceSplitter::split(std::string_view text, const SentenceLimit& limit) const {
  require<ConfigError>(limit.most >= 0 && (limit.most == 0 || limit.tokens), "sentences",
                       "the limit is {} tokens, expected 0 or more, with a function that counts them", limit.most);
  require<FormatError>(text.size() <= size_t{std::numeric_limits<int32_t>::max()}, "text", "it is too long");
  const auto invalid = find_invalid_utf8(text);
  require<FormatError>(!invalid, "text", "byte {} is not UTF-8", invalid.value_or(0));
  std::vector<TextSpan> spans;
  const auto add = [&](TextSpan sentence) {
    sentence = trimmed(text, sentence);
    if (!has_letter(sentence.in(text))) {
      return;
    }
    if (limit.most == 0 || limit.tokens(sentence.in(text)) <= limit.most) {
      spans.push_back(sentence);
      return;
    }
    for (const TextSpan& part : split_long(text, sentence, limit, *iterators_->lines, *iterators_->characters)) {
      if (has_letter(part.in(text))) {
        spans.push_back(part);
      }
    }
  };
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin, size = 0;
    while (end < text.size() && (size = line_break_at(text, end)) == 0) {
      ++end;
    }
    const std::string_view line = text.substr(begin, end - begin);
    size_t from = list_mark_of(line);
    const std::string_view sentences = line.substr(from);
    const size_t base = begin + from;
    from = 0;
    for (const size_t at : sentences.empty() ? std::vector<size_t>() : breaks_of(*iterators_->sentences, sentences)) {
      if (at == sentences.size() ||
          !is_inside_sentence({sentences.substr(from, at - from), sentences.substr(at)}, iterators_->marks)) {
        add({base + from, base + at});
        from = at;
      }
    }
    begin = end + (end < text.size() ? size : 0);
  }
  return spans;
}

std::string with_spans_replaced(std::string_view text, std::span<const TextSpan> spans,
                                std::span<const std::string> replacements) {
  require(spans.size() == replacements.size(), "sentences", "{} replacements of {} spans", replacements.size(),
          spans.size());
  std::string all;
  size_t done = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    require(done <= spans[i].begin && spans[i].begin <= spans[i].end && spans[i].end <= text.size(), "sentences",
            "spans are not in order");
    all.append(text.substr(done, spans[i].begin - done)).append(replacements[i]);
    done = spans[i].end;
  }
  return all.append(text.substr(done));
}

}  // namespace heed
