#include "data/corpus/corpus_rules.h"

#include <algorithm>

#include "base/errors.h"
#include "base/text/plural.h"

namespace heed {

std::string_view name_of(DropReason reason) {
  switch (reason) {
    case DropReason::unpaired:
      return "unpaired";
    case DropReason::over_long_line:
      return "over-long line";
    case DropReason::empty:
      return "empty";
    case DropReason::too_short:
      return "too short";
    case DropReason::too_long:
      return "too long";
    case DropReason::ratio:
      return "unequal in length";
    case DropReason::duplicate:
      return "duplicate";
  }
  return "?";
}

int64_t CorpusReport::dropped() const {
  int64_t sum = 0;
  for (const Drop& entry : drops) {
    sum += entry.count;
  }
  return sum;
}

std::string CorpusReport::text() const {
  std::string text = fmt::format("{} line{}, {} kept", lines, plural(lines), kept);
  if (truncated > 0) {
    text += fmt::format(" ({} truncated)", truncated);
  }
  text += fmt::format(", {} dropped", dropped());
  const char* separator = ": ";
  for (size_t i = 0; i < kDropReasons; ++i) {
    if (drops[i].count > 0) {
      text += fmt::format("{}{} {} (first {})", separator, drops[i].count, name_of(static_cast<DropReason>(i)),
                          drops[i].first);
      separator = ", ";
    }
  }
  if (empty_files > 0) {
    text += fmt::format("; {} empty file{} skipped", empty_files, plural(empty_files));
  }
  return text;
}

void CorpusReport::store(FieldsToStore& fields) const {
  fields.add_number("report.lines", lines);
  fields.add_number("report.kept", kept);
  fields.add_number("report.truncated", truncated);
  fields.add_number("report.empty_files", empty_files);
  for (size_t i = 0; i < kDropReasons; ++i) {
    if (drops[i].count > 0) {
      const std::string name = fmt::format("report.{}", name_of(static_cast<DropReason>(i)));
      fields.add_number(name, drops[i].count);
      fields.add_text(name, drops[i].first);
    }
  }
}

CorpusReport CorpusReport::stored(const StoredFields& fields) {
  const auto count = [&](const std::string& name) { return fields.count(name, 0); };
  CorpusReport report{.lines = count("report.lines"),
                      .kept = count("report.kept"),
                      .truncated = count("report.truncated"),
                      .empty_files = count("report.empty_files"),
                      .drops = {}};
  for (size_t i = 0; i < kDropReasons; ++i) {
    const std::string name = fmt::format("report.{}", name_of(static_cast<DropReason>(i)));
    if (fields.has_number(name)) {
      report.drops[i] = {.count = count(name), .first = fields.text(name)};
    }
  }
  return report;
}

}  // namespace heed
