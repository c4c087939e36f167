#include "interchange/marian/npz.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/archive/byte_reader.h"
#include "interchange/archive/zip_file.h"

namespace heed {
namespace {

constexpr std::string_view kNpyEnding = ".npy", kNpyMagic("\x93NUMPY", 6);
constexpr uint32_t kMaxNpyHeader = 65536;
constexpr size_t kMaxNpyAxes = 32;

struct NpyType {
  std::string_view name;
  ForeignType type;
};

constexpr std::array<NpyType, 13> kNpyTypes{{{"<f4", ForeignType::f32},
                                             {"<f2", ForeignType::f16},
                                             {"<f8", ForeignType::f64},
                                             {"|i1", ForeignType::i8},
                                             {"|u1", ForeignType::u8},
                                             {"|b1", ForeignType::boolean},
                                             {"<i2", ForeignType::i16},
                                             {"<i4", ForeignType::i32},
                                             {"<i8", ForeignType::i64},
                                             {"<u2", ForeignType::u16},
                                             {"<u4", ForeignType::u32},
                                             {"<u8", ForeignType::u64},
                                             {"<i1", ForeignType::i8}}};

// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: a dictionary as Python writes it.
class NpyHeader {
 public:
  NpyHeader(std::string_view text, const std::string& where) : text_(text), where_(where) {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr_) {
        descr_ = quoted();
      } else if (key == "fortran_order" && !fortran_) {
        fortran_ = boolean();
      } else if (key == "shape" && !shape_) {
        shape_ = tuple();
      } else {
        check(false);
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    check(descr_ && fortran_ && shape_);
  }

  ForeignType type() const {
    const auto* const row = std::ranges::find(kNpyTypes, *descr_, &NpyType::name);
    require<FormatError>(row != kNpyTypes.end(), where_, "its elements are '{}', which heed does not read",
                         shown(*descr_));
    return row->type;
  }
  const std::vector<int64_t>& shape() const { return *shape_; }
  bool is_fortran() const { return *fortran_; }

 private:
  void check(bool good) const { require<FormatError>(good, where_, "its header is not one of NumPy at byte {}", at_); }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool accept(char c) {
    skip_spaces();
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found ? 1 : 0;
    return found;
  }
  void expect(char c) { check(accept(c)); }
  std::string_view quoted() {
    expect('\'');
    const size_t end = text_.find('\'', at_);
    check(end != std::string_view::npos);
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }
  bool boolean() {
    skip_spaces();
    const bool value = text_.substr(at_).starts_with("True");
    check(value || text_.substr(at_).starts_with("False"));
    at_ += value ? 4 : 5;
    return value;
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> extents;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      check(error == std::errc() && extent >= 0 && extents.size() < kMaxNpyAxes);
      at_ = static_cast<size_t>(end - text_.data());
      extents.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<int64_t>> shape_;
};

}  // namespace

ArchiveTensor read_npy(std::string name, std::span<const std::byte> bytes, size_t file, const std::string& where) {
  const std::string array = fmt::format("{}: array '{}'", where, shown(name));
  ByteReader reader(bytes, array);
  require<FormatError>(reader.text(kNpyMagic.size(), "the mark") == kNpyMagic, array, "is not an array of NumPy");
  const auto version = reader.number<uint8_t>("the version");
  reader.number<uint8_t>("the version");
  require<FormatError>(version >= 1 && version <= 3, array, "is of version {}, expected 1 to 3", version);
  const uint32_t length = version == 1 ? reader.number<uint16_t>("the header") : reader.number<uint32_t>("the header");
  require<FormatError>(length <= kMaxNpyHeader, array, "its header has {} bytes, expected up to {}", length,
                       kMaxNpyHeader);
  const NpyHeader header(reader.text(length, "the header"), array);
  const auto wide = std::ranges::count_if(header.shape(), [](int64_t extent) { return extent > 1; });
  require<FormatError>(!header.is_fortran() || wide <= 1, array, "is in the order of Fortran");
  return {std::move(name), header.type(), header.shape(), reader.take(reader.left(), "its elements"), file};
}

void add_npz(std::span<const std::byte> bytes, size_t file, const std::string& where, TensorArchive& to) {
  for (ZipEntry& entry : read_zip(bytes, where)) {
    require<FormatError>(entry.name.ends_with(kNpyEnding), where, "the entry {} is not an array", shown(entry.name));
    entry.name.resize(entry.name.size() - kNpyEnding.size());
    to.add(read_npy(std::move(entry.name), entry.bytes, file, where));
  }
}

}  // namespace heed
