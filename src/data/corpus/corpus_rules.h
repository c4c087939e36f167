// What a corpus may contain, what happens to the rest, and how much of it there was.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "data/corpus/stored_fields.h"
#include "data/lines/line_reader.h"
#include "text/tokenizer.h"

namespace heed {

// What to do with anything else that is wrong with a line or a file: skip and count it, or fail, naming the line.
enum class Handling : uint8_t { skip, refuse };

enum class Duplicates : uint8_t { keep, drop };

struct CorpusRules {
  TooLong too_long = TooLong::drop;
  Handling too_short = Handling::skip;
  Handling empty_line = Handling::skip;  // only white space, or no tokens
  Handling over_long_line = Handling::refuse;
  Handling empty_file = Handling::refuse;
  Handling unequal_files = Handling::refuse;  // skip: the lines after the shorter file's end
  size_t max_line_bytes = size_t{1} << 20;    // in bytes
  // The maximum ratio of the sides' lengths, before truncation; 0 for no limit.
  double max_ratio = 0.0;
  // drop: of lines with the same text on every side, only the first is kept. Takes 16 to 32 bytes of memory for each.
  Duplicates duplicates = Duplicates::keep;
};

enum class DropReason : uint8_t { unpaired, over_long_line, empty, too_short, too_long, ratio, duplicate };
constexpr size_t kDropReasons = 7;
std::string_view name_of(DropReason reason);

struct CorpusReport {
  struct Drop {
    int64_t count = 0;
    std::string first;  // where the first was: "train.de:12"
  };

  int64_t lines = 0;  // read from each side; kept + dropped
  int64_t kept = 0;
  int64_t truncated = 0;    // of the kept lines
  int64_t empty_files = 0;  // skipped sets of files
  std::array<Drop, kDropReasons> drops;

  Drop& drop(DropReason reason) { return drops[static_cast<size_t>(reason)]; }
  const Drop& drop(DropReason reason) const { return drops[static_cast<size_t>(reason)]; }
  int64_t dropped() const;
  // "29000 lines, 28990 kept, 10 dropped: 8 too long (first train.de:88), 2 empty (first train.en:5)"
  std::string text() const;

  void store(FieldsToStore& fields) const;
  static CorpusReport stored(const StoredFields& fields);
};

}  // namespace heed
