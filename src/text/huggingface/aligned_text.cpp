#include "text/huggingface/aligned_text.h"

#include <algorithm>

#include "base/errors.h"
#include "text/huggingface/characters/characters.h"

namespace heed::huggingface {

ByteRange AlignedText::origin(size_t byte) const {
  if (explicit_) {
    return origins_[byte];
  }
  const std::string_view text = view();
  size_t begin = byte;
  while (begin > 0 && continues_character(text[begin])) {
    --begin;
  }
  const auto first = static_cast<uint32_t>(begin_ + begin);
  return {first, first + character_size(text[begin])};
}

std::string& AlignedText::editable() {
  if (!owned_) {
    buffer_ = source_;
    owned_ = true;
  }
  return buffer_;
}

void AlignedText::keep_only(size_t begin, size_t end) {
  if (owned_) {
    buffer_.resize(end);
    buffer_.erase(0, begin);
  } else {
    source_ = source_.substr(begin, end - begin);
  }
  if (explicit_) {
    origins_.resize(end);
    origins_.erase(origins_.begin(), origins_.begin() + static_cast<ptrdiff_t>(begin));
  } else {
    begin_ += static_cast<uint32_t>(begin);
  }
}

AlignedText AlignedText::part(size_t begin, size_t end) const {
  AlignedText part(view().substr(begin, end - begin), begin_ + begin, tracking_);
  part.explicit_ = explicit_;
  if (explicit_) {
    part.origins_.assign(origins_.begin() + static_cast<ptrdiff_t>(begin),
                         origins_.begin() + static_cast<ptrdiff_t>(end));
  }
  return part;
}

void AlignedText::append(const AlignedText& other, size_t begin, size_t end) {
  editable();
  if (tracking_ == Tracking::on) {
    if (!explicit_) {
      origins_.resize(buffer_.size());
      for (size_t i = 0; i < buffer_.size(); ++i) {
        origins_[i] = origin(i);
      }
      explicit_ = true;
    }
    for (size_t i = begin; i < end; ++i) {
      origins_.push_back(other.origin(i));
    }
  }
  buffer_ += other.view().substr(begin, end - begin);
}

ByteRange TextRewriter::origin_before() const {
  if (!tracking()) {
    return {};
  }
  if (at_ == 0) {
    return {text_.begin_, text_.begin_};
  }
  return text_.origin(std::min(at_, old_.size()) - 1);
}

void TextRewriter::keep(size_t end) {
  if (tracking()) {
    while (at_ < end) {
      const uint32_t size = character_size(old_[at_]);
      const bool known = text_.explicit_;
      const ByteRange whole = text_.origin(at_);
      for (uint32_t i = 0; i < size; ++i) {
        origins_.push_back(known ? text_.origins_[at_ + i] : whole);
      }
      buffer_ += old_.substr(at_, size);
      at_ += size;
    }
  } else {
    buffer_ += old_.substr(at_, end - at_);
    at_ = end;
  }
}

void TextRewriter::put(char32_t c, ByteRange origin) {
  append_character(buffer_, c);
  if (tracking()) {
    origins_.resize(buffer_.size(), origin);
  }
}

void TextRewriter::skip_characters(size_t count) {
  for (; count > 0 && at_ < old_.size(); --count) {
    at_ += character_size(old_[at_]);
  }
}

void TextRewriter::replace(char32_t c) {
  put(c, !tracking() ? ByteRange{} : at_ < old_.size() ? text_.origin(at_) : origin_before());
  skip_characters(1);
}

void TextRewriter::put_changed(char32_t c, int32_t change) {
  if (change > 0) {
    insert(c);
  } else {
    replace(c);
    skip_characters(static_cast<size_t>(-change));
  }
}

void TextRewriter::insert_text(std::string_view text) { insert_text_at(text, origin_before()); }

void TextRewriter::insert_text_at(std::string_view text, ByteRange origin) {
  require<FormatError>(buffer_.size() + text.size() <= limit_, "tokenizer",
                       "its normalizers make more than {} bytes of a text of {}", limit_, text_.source_.size());
  buffer_ += text;
  if (tracking()) {
    origins_.resize(buffer_.size(), origin);
  }
}

void TextRewriter::finish() {
  text_.buffer_ = std::move(buffer_);
  text_.owned_ = true;
  text_.explicit_ = tracking();
  text_.origins_ = std::move(origins_);
}

}  // namespace heed::huggingface
