#include "report/figures/text_lines.h"

#include <algorithm>

namespace heed {
namespace {

struct Character {
  size_t bytes;
  double columns;
};

// The first one: an entity, or a code point of UTF-8. Those of East Asian scripts are about twice as wide.
Character first_character(std::string_view html) {
  constexpr unsigned char kFirstOfWide = 0xE3;
  if (html.front() == '&') {
    if (const size_t end = html.find(';'); end != std::string_view::npos) {
      return {end + 1, 1.0};
    }
  }
  size_t bytes = 1;
  while (bytes < html.size() && (static_cast<unsigned char>(html[bytes]) & 0xC0U) == 0x80U) {
    ++bytes;
  }
  return {bytes, static_cast<unsigned char>(html.front()) >= kFirstOfWide ? 2.0 : 1.0};
}

double columns_of(std::string_view html) {
  double columns = 0.0;
  while (!html.empty()) {
    const Character character = first_character(html);
    columns += character.columns;
    html.remove_prefix(character.bytes);
  }
  return columns;
}

std::string_view without_end_spaces(std::string_view text) { return text.substr(0, text.find_last_not_of(' ') + 1); }

// The longest beginning of a text that has at most `most` columns, but at least one character.
std::string_view beginning(std::string_view text, double most) {
  size_t bytes = 0;
  double columns = 0.0;
  while (bytes < text.size()) {
    const Character character = first_character(text.substr(bytes));
    columns += character.columns;
    if (bytes > 0 && columns > most) {
      break;
    }
    bytes += character.bytes;
  }
  return text.substr(0, bytes);
}

class BrokenLines {
 public:
  explicit BrokenLines(double columns) : columns_(columns) {}

  void add(std::string_view piece) {
    if (columns_of(line_) + columns_of(without_end_spaces(piece)) > columns_) {
      end();
    }
    while (columns_of(without_end_spaces(piece)) > columns_) {
      line_ = beginning(piece, columns_);
      piece.remove_prefix(line_.size());
      end();
    }
    line_ += piece;
  }
  std::vector<std::string> take() {
    end();
    return std::move(lines_);
  }

 private:
  void end() {
    if (!line_.empty()) {
      lines_.emplace_back(without_end_spaces(line_));
    }
    line_.clear();
  }

  double columns_;
  std::string line_;
  std::vector<std::string> lines_;
};

}  // namespace

double estimated_width(std::string_view html, const Font& font) {
  return columns_of(html) * font.character * font.size;
}

std::vector<std::string> lines_of(const std::vector<std::string>& facts, const Font& font, double width) {
  std::string text;
  for (const std::string& fact : facts) {
    text += text.empty() ? fact : ", " + fact;
  }
  BrokenLines lines(width / (font.character * font.size));
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find_first_of(" +");
    const std::string_view piece = rest.substr(0, end == std::string_view::npos ? end : end + 1);
    lines.add(piece);
    rest.remove_prefix(piece.size());
  }
  return lines.take();
}

}  // namespace heed
