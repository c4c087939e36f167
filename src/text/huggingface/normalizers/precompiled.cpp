// SentencePiece's map of characters, as the tokenizers library applies it: to whole grapheme clusters of up to five
// bytes if the map knows a beginning of them (the shortest, which stands for the whole cluster), else to characters.
#include <array>
#include <cstring>
#include <optional>

#include "base/errors.h"
#include "base/text/base64.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/characters/graphemes.h"
#include "text/huggingface/normalizers/normalizer.h"
#include "text/unicode/character_map.h"
#include "text/unicode/unicode.h"

namespace heed::huggingface {
namespace {

// The texts of a map that was checked: behind the size of its trie, and the trie.
std::string_view texts_of(std::string_view map) {
  uint32_t size = 0;
  if (map.size() > sizeof size) {
    std::memcpy(&size, map.data(), sizeof size);
    map.remove_prefix(sizeof size + size);
  }
  return map;
}

// A double-array trie of 32-bit units, and the texts that its values point into; each ends with NUL. Checked by
// check_character_map().
class CharacterMap {
 public:
  explicit CharacterMap(std::string_view map) {
    if (map.empty()) {
      return;
    }
    uint32_t size = 0;
    std::memcpy(&size, map.data(), sizeof size);
    units_.resize(size / sizeof(uint32_t));
    std::memcpy(units_.data(), map.data() + sizeof size, size);
    texts_ = texts_of(map);
    for (size_t c = 1; c < ascii_.size(); ++c) {
      const char text = static_cast<char>(c);
      ascii_[c] = find({&text, 1});
    }
  }

  bool empty() const { return units_.empty(); }
  const std::optional<std::string_view>& of_ascii(char c) const { return ascii_[static_cast<unsigned char>(c)]; }

  // What stands for the shortest beginning of `text` that the map knows.
  std::optional<std::string_view> find(std::string_view text) const {
    if (units_.empty()) {
      return std::nullopt;
    }
    size_t node = offset(units_[0]);
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      node ^= byte;
      if (byte == 0 || node >= units_.size() || (units_[node] & kLabelMask) != byte) {
        return std::nullopt;
      }
      const uint32_t unit = units_[node];
      node ^= offset(unit);
      if ((unit >> 8U & 1U) != 0) {
        const size_t begin = units_[node] & 0x7fffffffU;
        return texts_.substr(begin, texts_.find('\0', begin) - begin);
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr uint32_t kLabelMask = 0x800000ffU;
  static size_t offset(uint32_t unit) { return static_cast<size_t>(unit >> 10U) << ((unit & 0x200U) >> 6U); }

  std::vector<uint32_t> units_;
  std::string_view texts_;
  std::array<std::optional<std::string_view>, 128> ascii_;
};

struct MappedCharacter {
  char32_t value;
  int32_t change;
};

class PrecompiledNormalizer final : public Normalizer {
 public:
  explicit PrecompiledNormalizer(std::string bytes) : bytes_(std::move(bytes)), map_(bytes_) {}

  void apply(AlignedText& text) const override {
    if (map_.empty() || !changes(text.view())) {
      return;
    }
    std::vector<MappedCharacter> mapped;
    const std::string_view view = text.view();
    for (size_t at = 0; at < view.size();) {
      at = map_cluster(view, at, mapped);
      require<FormatError>(mapped.size() <= TextRewriter::size_limit(text), "tokenizer",
                           "its map makes more than {} characters of a text of {} bytes",
                           TextRewriter::size_limit(text), view.size());
    }
    TextRewriter rewriter(text);
    for (const MappedCharacter& c : mapped) {
      rewriter.put_changed(c.value, c.change);
    }
    rewriter.finish();
  }

 private:
  static constexpr size_t kLongestCluster = 5;

  static size_t cluster_end(std::string_view text, size_t at) {
    const bool alone = static_cast<unsigned char>(text[at]) < 0x80 && text[at] != '\r' &&
                       (at + 1 == text.size() || static_cast<unsigned char>(text[at + 1]) < 0x80);
    return alone ? at + 1 : grapheme_end(text, at);
  }

  bool changes(std::string_view text) const {
    for (size_t at = 0; at < text.size();) {
      const size_t end = cluster_end(text, at);
      if (end == at + 1 ? map_.of_ascii(text[at]).has_value() : changes_cluster(text.substr(at, end - at))) {
        return true;
      }
      at = end;
    }
    return false;
  }

  bool changes_cluster(std::string_view cluster) const {
    if (cluster.size() <= kLongestCluster && map_.find(cluster)) {
      return true;
    }
    for (size_t at = 0; at < cluster.size(); at += character_size(cluster[at])) {
      if (map_.find(cluster.substr(at, character_size(cluster[at])))) {
        return true;
      }
    }
    return false;
  }

  size_t map_cluster(std::string_view text, size_t begin, std::vector<MappedCharacter>& mapped) const {
    const size_t end = cluster_end(text, begin);
    const std::string_view cluster = text.substr(begin, end - begin);
    if (cluster.size() <= kLongestCluster) {
      if (const auto found = map_.find(cluster)) {
        put(cluster, *found, mapped);
        return end;
      }
    }
    for (size_t at = begin; at < end;) {
      const auto [value, size] = decode_character(text.data() + at);
      if (const auto found = map_.find(text.substr(at, size))) {
        put(text.substr(at, size), *found, mapped);
      } else {
        mapped.push_back({value, 0});
      }
      at += size;
    }
    return end;
  }

  // The new characters replace the old ones; those that are more are inserted, and the last stands for those that are
  // fewer.
  static void put(std::string_view old_text, std::string_view new_text, std::vector<MappedCharacter>& mapped) {
    const auto olds = static_cast<int32_t>(count_characters(old_text));
    int32_t news = 0;
    for (size_t at = 0; at < new_text.size(); ++news) {
      const auto [value, size] = decode_character(new_text.data() + at);
      mapped.push_back({value, news < olds ? 0 : 1});
      at += size;
    }
    if (news < olds && !mapped.empty()) {
      mapped.back().change += news - olds;
    }
  }

  std::string bytes_;
  CharacterMap map_;
};

}  // namespace

NormalizerPtr make_precompiled_normalizer(const JsonValue& json) {
  const std::optional<JsonValue> map = json.find("precompiled_charsmap");
  std::string bytes;
  if (map) {
    bytes = decode_base64(map->text(), map->where());
    check_character_map(bytes, map->where());
    require<FormatError>(!find_invalid_utf8(texts_of(bytes)), map->where(), "a text of the map is not UTF-8");
  }
  return std::make_unique<PrecompiledNormalizer>(std::move(bytes));
}

}  // namespace heed::huggingface
