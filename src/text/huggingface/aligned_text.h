// Text on its way through normalizers and pre-tokenizers, which remembers where in the original each byte came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::huggingface {

// Bytes begin to end - 1.
struct ByteRange {
  uint32_t begin = 0, end = 0;

  bool operator==(const ByteRange&) const = default;
};

enum class Tracking : uint8_t { off, on };

// As long as nothing changed the size of a character, byte i came from byte begin + i, and nothing is stored per byte.
class AlignedText {
 public:
  AlignedText() = default;
  // `part` of an original begins at its byte `begin`, and must outlive this.
  AlignedText(std::string_view part, size_t begin, Tracking tracking)
      : source_(part), begin_(static_cast<uint32_t>(begin)), tracking_(tracking) {}

  std::string_view view() const { return owned_ ? std::string_view(buffer_) : source_; }
  size_t size() const { return view().size(); }
  bool empty() const { return view().empty(); }
  Tracking tracking() const { return tracking_; }

  // The bytes of the original that the character with this byte came from. Meaningful when tracking.
  ByteRange origin(size_t byte) const;
  // The same for all from `begin` to `end` - 1.
  ByteRange origin(size_t begin, size_t end) const { return {origin(begin).begin, origin(end - 1).end}; }

  // The text for changes that keep each character's size.
  std::string& editable();
  void keep_only(size_t begin, size_t end);
  // A part of this text, which must outlive it.
  AlignedText part(size_t begin, size_t end) const;
  void append(const AlignedText& other, size_t begin, size_t end);

 private:
  friend class TextRewriter;

  std::string_view source_;
  std::string buffer_;
  std::vector<ByteRange> origins_;  // one per byte, where `explicit_`
  uint32_t begin_ = 0;
  Tracking tracking_ = Tracking::off;
  bool owned_ = false, explicit_ = false;
};

// Makes a new text from an old one, character by character, by the rules of the tokenizers library: a new character
// replaces one or several old ones and takes over the origin of the first, or is inserted and shares the origin of the
// character before.
class TextRewriter {
 public:
  explicit TextRewriter(AlignedText& text) : text_(text), old_(text.view()), limit_(size_limit(text)) {
    buffer_.reserve(old_.size() + 16);
  }

  // To how many bytes a text may grow: a file could double it again and again.
  static size_t size_limit(const AlignedText& text) { return (size_t{1} << 20U) + 100 * text.source_.size(); }

  size_t position() const { return at_; }
  bool done() const { return at_ >= old_.size(); }

  // Copies the old text up to `end`.
  void keep(size_t end);
  // Leaves the next old character out; the next character that is put does not take over its origin.
  void skip(size_t bytes) { at_ += bytes; }
  // Puts a character in place of the next old one.
  void replace(char32_t c);
  // Puts one that has the origin of the old character before the position.
  void insert(char32_t c) { put(c, origin_before()); }
  // change: 0 replaces, 1 inserts, -n replaces and then leaves out n more.
  void put_changed(char32_t c, int32_t change);
  // Text with the origin of the old character before the position.
  void insert_text(std::string_view text);
  void insert_text_at(std::string_view text, ByteRange origin);
  // Ends the change: the rest of the old text is left out.
  void finish();

 private:
  bool tracking() const { return text_.tracking_ == Tracking::on; }
  ByteRange origin_before() const;
  void put(char32_t c, ByteRange origin);
  void skip_characters(size_t count);

  AlignedText& text_;
  std::string_view old_;
  size_t limit_;
  size_t at_ = 0;
  std::string buffer_;
  std::vector<ByteRange> origins_;
};

}  // namespace heed::huggingface
