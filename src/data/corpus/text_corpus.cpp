#include "data/corpus/text_corpus.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/random.h"
#include "data/lines/line_chunks.h"
#include "text/lines/multiline.h"
#include "text/lines/text_pair.h"

namespace heed {
namespace {

constexpr int64_t kMarkTokens = 4096;  // about this many between marks of one document

struct EncodedLine {
  TextLine line;
  std::vector<TokenId> tokens;
};

}  // namespace

TextMarks text_marks(const Tokenizer& tokenizer, Documents documents, TextColumns columns) {
  TextMarks marks;
  if (documents != Documents::lines) {
    marks.line_break = line_break_token(tokenizer);
    require<ConfigError>(marks.line_break.has_value(), "tokenizer",
                         "{} has no token for a line break, which is text here: give each line as a document, or learn "
                         "a tokenizer that keeps line breaks",
                         name_of(tokenizer.kind()));
  }
  if (documents != Documents::none) {
    const SpecialTokens& special = tokenizer.special();
    require<ConfigError>(special.eos != kNoToken, "tokenizer", "it has no eos, which ends a document");
    marks.begin = special.bos == kNoToken ? special.eos : special.bos;
    marks.end = special.eos;
    if (columns == TextColumns::pair) {
      marks.separator = special.sep == kNoToken ? special.eos : special.sep;
    }
  }
  return marks;
}

class TextCorpusBuilder {
 public:
  TextCorpusBuilder(const TextRules& rules, const Tokenizer& tokenizer, const LineWorkers& workers,
                    const SpillRules& spill)
      : source_(rules),
        tokenizer_(tokenizer),
        marks_(text_marks(tokenizer, rules.documents, rules.columns)),
        workers_(workers),
        corpus_(TokenStore(tokenizer.vocabulary_size(), spill), SpillArray<TextCorpus::Mark>(spill)) {
    corpus_.files_ = rules.files;
    corpus_.line_break_ = marks_.line_break;
  }

  TextCorpus build() {
    std::vector<EncodedLine> lines;
    size_t bytes = 0;
    for (EncodedLine next; source_.next(next.line); next = {}) {
      if (marks_.separator) {
        split_pair(next.line.text, source_.where(next.line));  // here, where each rank refuses the same line
      }
      bytes += next.line.text.size();
      lines.push_back(std::move(next));
      if (workers_.has_enough(lines.size(), bytes)) {
        take(lines);
        bytes = 0;
      }
    }
    take(lines);
    end_document();
    const TextRules& rules = source_.rules();
    require<FormatError>(corpus_.tokens() > 0 || rules.part.empty(), corpus_.names(), "{} in the part that is {}",
                         rules.documents == Documents::none ? "there is no text" : "no document begins", rules.part);
    require<FormatError>(corpus_.tokens() > 0, corpus_.names(), "holds no text");
    corpus_.store_.seal();
    corpus_.marks_.seal();
    corpus_.size_ = source_.size();
    return std::move(corpus_);
  }

 private:
  void take(std::vector<EncodedLine>& lines) {
    encode_chunk(
        workers_, lines, [&](EncodedLine& line) { line.tokens = encoded(line.line); },
        [](EncodedLine& line) { return std::span(&line.tokens, 1); });
    for (const EncodedLine& line : lines) {
      append(line);
    }
    lines.clear();
  }

  std::vector<TokenId> encoded(const TextLine& line) const {
    if (!marks_.separator) {
      return tokenizer_.encode(line.text);
    }
    const TextPair pair = split_pair(line.text, source_.where(line));
    std::vector<TokenId> tokens = tokenizer_.encode(pair.first);
    tokens.push_back(*marks_.separator);
    const std::vector<TokenId> second = tokenizer_.encode(pair.second);
    tokens.insert(tokens.end(), second.begin(), second.end());
    return tokens;
  }

  void append(const EncodedLine& encoded) {
    const TextLine& line = encoded.line;
    if (line.begins_document) {
      end_document();
      in_document_ = true;
    }
    const int64_t token = corpus_.tokens();
    if (line.begins_document || line.file != last_mark_.file || token - last_mark_.token >= kMarkTokens) {
      last_mark_ = {.token = token, .line = line.line, .file = line.file};
      corpus_.marks_.append(last_mark_);
    }
    if (line.begins_document && marks_.begin) {
      add({&*marks_.begin, 1});
    }
    add(encoded.tokens);
    if (line.line_break) {
      add({&*marks_.line_break, 1});
    }
  }

  void end_document() {
    if (!std::exchange(in_document_, false)) {
      return;
    }
    if (marks_.end) {
      add({&*marks_.end, 1});
    }
    corpus_.store_.end_sequence();
  }

  void add(std::span<const TokenId> tokens) {
    corpus_.store_.extend(tokens);
    for (const TokenId id : tokens) {
      corpus_.fingerprint_ = mix_bits(corpus_.fingerprint_ ^ static_cast<uint64_t>(id.value));
    }
  }

  TextSource source_;
  const Tokenizer& tokenizer_;
  TextMarks marks_;
  LineWorkers workers_;
  TextCorpus corpus_;
  TextCorpus::Mark last_mark_;
  bool in_document_ = false;
};

int64_t TextCorpus::document_of(int64_t token) const {
  ensure(token >= 0 && token < tokens(), "text", "token {} of {}", token, tokens());
  int64_t low = 0, high = documents() - 1;  // the first that ends after the token
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (store_.end(middle) > token) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::string TextCorpus::where(int64_t token) const {
  ensure(token >= 0 && token < tokens(), "text", "token {} of {}", token, tokens());
  int64_t low = 0, high = marks_.size() - 1;  // the last at the token or before it
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (marks_[middle].token <= token) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const Mark mark = marks_[low];
  // The marks of a prepared corpus come from a file.
  require<FormatError>(mark.token >= 0 && mark.token <= token && mark.file >= 0 &&
                           static_cast<size_t>(mark.file) < files_.size() && mark.line >= 0 &&
                           mark.line <= StoredFields::kMostCounted,
                       names(), "the mark of token {} is damaged", token);
  std::vector<int32_t> between;
  store_.read_between(mark.token, token, between);
  const int64_t breaks = line_break_ ? std::ranges::count(between, line_break_->value) : 0;
  return fmt::format("{}:{}", files_[static_cast<size_t>(mark.file)].string(), mark.line + breaks);
}

void TextCorpus::store(FieldsToStore& fields, const std::string& name) const {
  store_.store(fields, name);
  fields.add(name + ".marks", marks_);
  fields.add_number(name + ".bytes", size_.bytes);
  fields.add_number(name + ".characters", size_.characters);
  fields.add_number(name + ".fingerprint", static_cast<int64_t>(fingerprint_));
}

TextCorpus TextCorpus::stored(const StoredFields& fields, const std::string& name, const TextRules& rules,
                              const Tokenizer& tokenizer) {
  TextCorpus corpus(TokenStore(fields, name, tokenizer.vocabulary_size()), fields.array<Mark>(name + ".marks"));
  require<FormatError>(corpus.tokens() > 0 && corpus.documents() > 0 && corpus.marks_.size() > 0, fields.where(),
                       "'{}' holds no text", name);
  corpus.files_ = rules.files;
  corpus.line_break_ = text_marks(tokenizer, rules.documents).line_break;
  corpus.size_ = {fields.count(name + ".bytes", 1), fields.count(name + ".characters", 1)};
  corpus.fingerprint_ = static_cast<uint64_t>(fields.number(name + ".fingerprint"));
  return corpus;
}

// The first line of each file has a mark.
std::vector<int64_t> TextCorpus::file_begins() const {
  std::vector<int64_t> begins;
  begins.reserve(files_.size());
  for (int64_t i = 0; i < marks_.size(); ++i) {
    const Mark mark = marks_[i];
    require<FormatError>(mark.token >= (begins.empty() ? 0 : begins.back()) && mark.token < tokens() &&
                             mark.file >= 0 && std::cmp_less(mark.file, files_.size()),
                         names(), "the mark of token {} is damaged", mark.token);
    while (std::cmp_less_equal(begins.size(), mark.file)) {
      begins.push_back(mark.token);
    }
  }
  begins.resize(files_.size(), tokens());
  return begins;
}

std::string TextCorpus::names() const { return names_of(files_); }

TextCorpus read_text_corpus(const TextRules& rules, const Tokenizer& tokenizer, const LineWorkers& workers,
                            const SpillRules& spill) {
  return TextCorpusBuilder(rules, tokenizer, workers, spill).build();
}

}  // namespace heed
