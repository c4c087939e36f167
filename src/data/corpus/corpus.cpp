#include "data/corpus/corpus.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/random.h"
#include "base/text/plural.h"
#include "data/corpus/hash_set.h"
#include "data/lines/line_chunks.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

// A line of every side.
struct Row {
  std::vector<std::string> texts;
  std::vector<std::vector<TokenId>> tokens;
  int64_t line = 0;
  std::optional<size_t> long_side;  // the side whose line was longer than the limit
};

}  // namespace

class CorpusBuilder {
 public:
  CorpusBuilder(const std::vector<CorpusSide>& sides, const CorpusRules& rules, const LineWorkers& workers,
                const SpillRules& spill)
      : sides_(sides), rules_(rules), workers_(workers), corpus_(SpillArray<int64_t>(spill)) {
    check_rules();
    for (const CorpusSide& side : sides) {
      corpus_.stores_.emplace_back(side.vocabulary, spill);
      corpus_.files_.push_back(side.files);
    }
  }

  Corpus build() {
    for (file_ = 0; file_ < sides_[0].files.size(); ++file_) {
      corpus_.first_sentences_.push_back(corpus_.size());
      read_files();
    }
    require<FormatError>(corpus_.size() > 0, "corpus", "no line of {} can be used: {}", sides_[0].files[0].string(),
                         report().text());
    for (TokenStore& store : corpus_.stores_) {
      store.seal();
    }
    corpus_.lines_.seal();
    return std::move(corpus_);
  }

 private:
  CorpusReport& report() { return corpus_.report_; }

  std::string where(size_t side, int64_t line) const {
    return fmt::format("{}:{}", sides_[side].files[file_].string(), line);
  }

  void check_rules() const {
    require<ConfigError>(!sides_.empty() && !sides_[0].files.empty(), "corpus", "no files");
    require<ConfigError>(rules_.max_ratio == 0.0 || rules_.max_ratio >= 1.0, "corpus",
                         "the largest ratio of lengths is {}, expected 1 or more, or 0 for no limit", rules_.max_ratio);
    for (const CorpusSide& side : sides_) {
      require<ConfigError>(side.files.size() == sides_[0].files.size(), "corpus",
                           "one side has {} files, but the other has {}", side.files.size(), sides_[0].files.size());
      require<ConfigError>(side.min_length >= 0 && side.max_length >= 1 && side.min_length <= side.max_length, "corpus",
                           "the shortest sentence has {} tokens and the longest {}, which is not a range",
                           side.min_length, side.max_length);
    }
  }

  // One file of each side.
  void read_files() {
    std::vector<LineReader> readers;
    const LineRules lines{rules_.max_line_bytes,
                          rules_.over_long_line == Handling::skip ? LongLines::mark : LongLines::refuse};
    for (const CorpusSide& side : sides_) {
      readers.emplace_back(side.files[file_], lines);
    }
    std::vector<Row> rows;
    size_t bytes = 0;
    for (Row row; next_row(readers, row); row = Row{}) {
      for (const std::string& text : row.texts) {
        bytes += text.size();
      }
      rows.push_back(std::move(row));
      if (workers_.has_enough(rows.size(), bytes)) {
        take(rows);
        bytes = 0;
      }
    }
    take(rows);
  }

  bool next_row(std::vector<LineReader>& readers, Row& row) {
    row.texts.resize(readers.size());
    row.tokens.resize(readers.size());
    size_t ended = 0;
    for (size_t side = 0; side < readers.size(); ++side) {
      if (!readers[side].next(row.texts[side])) {
        ++ended;
      } else if (readers[side].marked() && !row.long_side) {
        row.long_side = side;
      }
    }
    if (ended == 0) {
      row.line = readers[0].line_number();
      return true;
    }
    if (ended < readers.size()) {
      count_rest(readers);
    }
    const auto is_empty = [](const LineReader& reader) { return reader.line_number() == 0; };
    for (const LineReader& reader : readers) {
      require<FormatError>(!is_empty(reader) || rules_.empty_file == Handling::skip, reader.name(),
                           "the file has no lines");
    }
    report().empty_files += std::ranges::any_of(readers, is_empty) ? 1 : 0;
    return false;
  }

  // The files have different numbers of lines: reads all to the end, for the counts.
  void count_rest(std::vector<LineReader>& readers) {
    std::string line;
    for (LineReader& reader : readers) {
      while (reader.next(line)) {
      }
    }
    const auto [shortest, longest] = std::ranges::minmax_element(readers, {}, &LineReader::line_number);
    const int64_t shorter = shortest->line_number(), longer = longest->line_number();
    require<FormatError>(shorter > 0 || rules_.empty_file == Handling::skip, shortest->name(), "the file has no lines");
    require<FormatError>(rules_.unequal_files == Handling::skip, "corpus", "{} has {} lines, but {} has {}",
                         shortest->name(), shorter, longest->name(), longer);
    report().lines += longer - shorter;
    count(DropReason::unpaired, fmt::format("{}:{}", longest->name(), shorter + 1), longer - shorter);
  }

  void count(DropReason reason, std::string where, int64_t lines = 1) {
    CorpusReport::Drop& drop = report().drop(reason);
    if (drop.count == 0) {
      drop.first = std::move(where);
    }
    drop.count += lines;
  }

  void take(std::vector<Row>& rows) {
    encode_chunk(
        workers_, rows, [&](Row& row) { encode(row); }, [](Row& row) { return std::span(row.tokens); });
    for (Row& row : rows) {
      ++report().lines;
      keep_or_drop(row);
    }
    rows.clear();
  }

  void encode(Row& row) const {
    for (size_t side = 0; side < sides_.size(); ++side) {
      if (!is_blank(row.texts[side])) {
        row.tokens[side] = sides_[side].encode(row.texts[side]);
      }
    }
  }

  // A line is counted for the first reason that applies.
  void keep_or_drop(Row& row) {
    if (row.long_side) {
      count(DropReason::over_long_line, where(*row.long_side, row.line));
    } else if (all_sides_pass(row) && lengths_agree(row) && is_new(row)) {
      keep(row);
    }
  }

  bool all_sides_pass(const Row& row) {
    // An empty side is the reason before a short or long other side.
    for (const DropReason reason : {DropReason::empty, DropReason::too_short, DropReason::too_long}) {
      for (size_t side = 0; side < sides_.size(); ++side) {
        if (fails(row, side, reason)) {
          count(reason, where(side, row.line));
          return false;
        }
      }
    }
    return true;
  }

  bool fails(const Row& row, size_t side, DropReason reason) const {
    const auto length = static_cast<int64_t>(row.tokens[side].size());
    const CorpusSide& limits = sides_[side];
    if (reason == DropReason::empty) {
      const bool empty = length == 0 && limits.min_length > 0;
      require<FormatError>(!empty || rules_.empty_line == Handling::skip, where(side, row.line), "the line is empty");
      return empty;
    }
    if (reason == DropReason::too_short) {
      const bool too_short = length < limits.min_length;
      require<FormatError>(!too_short || rules_.too_short == Handling::skip, where(side, row.line),
                           "{} token{}, expected at least {}", length, plural(length), limits.min_length);
      return too_short;
    }
    const bool too_long = length > limits.max_length && rules_.too_long != TooLong::truncate;
    require<FormatError>(!too_long || rules_.too_long == TooLong::drop, where(side, row.line),
                         "{} token{}, expected at most {}", length, plural(length), limits.max_length);
    return too_long;
  }

  bool lengths_agree(const Row& row) {
    const auto [shortest, longest] = std::ranges::minmax_element(row.tokens, {}, &std::vector<TokenId>::size);
    const bool agree = rules_.max_ratio == 0.0 ||
                       static_cast<double>(longest->size()) <= rules_.max_ratio * static_cast<double>(shortest->size());
    if (!agree) {
      count(DropReason::ratio, where(0, row.line));
    }
    return agree;
  }

  // By a 64-bit hash: with a hundred million different lines, two are confused about once in four thousand runs.
  bool is_new(const Row& row) {
    if (rules_.duplicates == Duplicates::keep) {
      return true;
    }
    RandomKey key;
    for (const std::string& text : row.texts) {
      key = key.derive(text);
    }
    const bool added = seen_.insert(key.bits);
    if (!added) {
      count(DropReason::duplicate, where(0, row.line));
    }
    return added;
  }

  void keep(Row& row) {
    bool truncated = false;
    for (size_t side = 0; side < sides_.size(); ++side) {
      std::vector<TokenId>& tokens = row.tokens[side];
      if (static_cast<int64_t>(tokens.size()) > sides_[side].max_length) {
        tokens.resize(static_cast<size_t>(sides_[side].max_length));
        truncated = true;
      }
      corpus_.stores_[side].append(tokens);
      uint64_t& hash = corpus_.fingerprint_;
      hash = mix_bits(hash + tokens.size() + 1);
      for (const TokenId id : tokens) {
        hash = mix_bits(hash ^ static_cast<uint64_t>(id.value));
      }
    }
    corpus_.lines_.append(row.line);
    ++report().kept;
    report().truncated += truncated ? 1 : 0;
  }

  const std::vector<CorpusSide>& sides_;
  const CorpusRules& rules_;
  LineWorkers workers_;
  Corpus corpus_;
  HashSet seen_;
  size_t file_ = 0;
};

LineOrigin Corpus::origin(int64_t sentence) const {
  ensure(sentence >= 0 && sentence < size(), "corpus", "sentence {} of {}", sentence, size());
  const auto after = std::ranges::upper_bound(first_sentences_, sentence);
  return {after - first_sentences_.begin() - 1, lines_[sentence]};
}

std::string Corpus::where(int64_t sentence) const {
  const LineOrigin from = origin(sentence);
  std::vector<std::string> lines;
  for (const auto& files : files_) {
    lines.push_back(fmt::format("{}:{}", files[static_cast<size_t>(from.file)].string(), from.line));
  }
  return fmt::format("{}", fmt::join(lines, " | "));
}

void Corpus::store(FieldsToStore& fields) const {
  for (size_t k = 0; k < stores_.size(); ++k) {
    stores_[k].store(fields, fmt::format("side{}", k));
  }
  fields.add("lines", lines_);
  fields.add("first_sentences", std::span<const int64_t>(first_sentences_));
  fields.add_number("fingerprint", static_cast<int64_t>(fingerprint_));
  report_.store(fields);
}

Corpus Corpus::stored(const StoredFields& fields, const std::vector<CorpusSide>& sides) {
  Corpus corpus(fields.array<int64_t>("lines"));
  for (size_t k = 0; k < sides.size(); ++k) {
    corpus.stores_.emplace_back(fields, fmt::format("side{}", k), sides[k].vocabulary);
    corpus.files_.push_back(sides[k].files);
    require<FormatError>(corpus.stores_.back().size() == corpus.size() && corpus.size() > 0, fields.where(),
                         "{} sentences on side {}, but {} lines", corpus.stores_.back().size(), k, corpus.size());
  }
  // Not ends, but numbers that rise from 0; several files may begin at the same sentence, where some had none.
  const SpillArray<int64_t> first = fields.array<int64_t>("first_sentences");
  for (int64_t i = 0; i < first.size(); ++i) {
    corpus.first_sentences_.push_back(first[i]);
  }
  const std::vector<int64_t>& begins = corpus.first_sentences_;
  require<FormatError>(begins.size() == sides[0].files.size() && begins.front() == 0 &&
                           std::ranges::is_sorted(begins) && begins.back() <= corpus.size(),
                       fields.where(), "the files' first sentences are damaged");
  corpus.fingerprint_ = static_cast<uint64_t>(fields.number("fingerprint"));
  corpus.report_ = CorpusReport::stored(fields);
  return corpus;
}

Corpus read_corpus(const std::vector<CorpusSide>& sides, const CorpusRules& rules, const LineWorkers& workers,
                   const SpillRules& spill) {
  return CorpusBuilder(sides, rules, workers, spill).build();
}

}  // namespace heed
