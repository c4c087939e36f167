#include "data/lines/text_source.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

int64_t characters_in(std::string_view text) { return std::ranges::count_if(text, begins_character); }

// Where the character with that index begins; the end of the text if there is none.
size_t offset_of(std::string_view text, int64_t index) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && index-- == 0) {
      break;
    }
  }
  return at;
}

}  // namespace

int64_t TextSource::RawLine::characters() const { return characters_in(text) + (broken ? 1 : 0); }

TextSource::TextSource(TextRules rules) : rules_(std::move(rules)) {
  require<ConfigError>(!rules_.files.empty(), "text", "no files");
}

bool TextSource::read(RawLine& raw) {
  while (true) {
    if (reader_ && reader_->next(raw.text)) {
      raw.broken = reader_->broken();
      raw.line = reader_->line_number();
      raw.begins_file = raw.line == 1;
      raw.file = static_cast<int64_t>(opened_) - 1;
      return true;
    }
    require<FormatError>(!reader_ || reader_->line_number() > 0, reader_ ? reader_->name() : "", "the file is empty");
    if (opened_ == rules_.files.size()) {
      return false;
    }
    reader_.emplace(rules_.files[opened_++],
                    LineRules{.max_bytes = rules_.max_line_bytes, .carriage_returns = CarriageReturns::keep});
  }
}

bool TextSource::peek() {
  RawLine raw;
  if (!ahead_ && read(raw)) {
    ahead_ = std::move(raw);
  }
  return ahead_.has_value();
}

bool TextSource::next(TextLine& line) {
  return rules_.documents == Documents::none ? read_stream(line) : read_document(line);
}

// A line whose file ends without a line break goes on in the next file.
bool TextSource::read_stream(TextLine& line) {
  for (RawLine raw; read(raw);) {
    while (!raw.broken && peek()) {
      raw.text += ahead_->text;
      raw.broken = ahead_->broken;
      ahead_.reset();
      require<FormatError>(
          raw.text.size() <= rules_.max_line_bytes, rules_.files[static_cast<size_t>(raw.file)].string(),
          "its last line, which goes on in the next file, is longer than {} bytes", rules_.max_line_bytes);
    }
    const int64_t begin = std::exchange(at_, at_ + raw.characters());
    if (at_ <= rules_.range.begin) {
      continue;
    }
    if (begin >= rules_.range.end) {
      return false;
    }
    const size_t from = offset_of(raw.text, std::max<int64_t>(0, rules_.range.begin - begin));
    const size_t to = offset_of(raw.text, rules_.range.end - begin);
    line = {.text = raw.text.substr(from, to - from),
            .line_break = raw.broken && at_ <= rules_.range.end,
            .begins_document = !std::exchange(begun_, true),
            .file = raw.file,
            .line = raw.line};
    size_.bytes += static_cast<int64_t>(line.text.size()) + (line.line_break ? 1 : 0);
    size_.characters += characters_in(line.text) + (line.line_break ? 1 : 0);
    return true;
  }
  return false;
}

bool TextSource::read_document(TextLine& line) {
  const Documents documents = rules_.documents;
  while (peek()) {
    RawLine raw = std::move(*std::exchange(ahead_, std::nullopt));
    const bool blank = documents != Documents::files && is_blank(raw.text);
    in_document_ = in_document_ && !raw.begins_file && !blank && documents != Documents::lines;
    const bool begins = !in_document_ && !blank;
    if (begins || !begun_) {
      wanted_ = at_ >= rules_.range.begin && at_ < rules_.range.end;
    }
    if (begins && at_ >= rules_.range.end) {
      return false;
    }
    begun_ = true;
    in_document_ = !blank;
    at_ += raw.characters();
    if (!wanted_) {
      continue;
    }
    size_.bytes += static_cast<int64_t>(raw.text.size()) + (raw.broken ? 1 : 0);
    size_.characters += raw.characters();
    if (blank) {
      continue;
    }
    const bool goes_on =
        documents == Documents::blank_lines && peek() && !ahead_->begins_file && !is_blank(ahead_->text);
    line = {.text = std::move(raw.text),
            .line_break = goes_on || (documents == Documents::files && raw.broken),
            .begins_document = begins,
            .file = raw.file,
            .line = raw.line};
    return true;
  }
  return false;
}

std::string TextSource::where(const TextLine& line) const {
  return fmt::format("{}:{}", rules_.files[static_cast<size_t>(line.file)].string(), line.line);
}

TextSize measure_text(const TextRules& rules) {
  TextRules whole = rules;
  whole.range = {};
  TextSource source(std::move(whole));
  for (TextLine line; source.next(line);) {
  }
  return source.size();
}

}  // namespace heed
