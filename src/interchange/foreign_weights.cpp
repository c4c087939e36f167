#include "interchange/foreign_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/archive/block_values.h"
#include "models/any_model.h"
#include "tensor/float16.h"
#include "tensor/half.h"

namespace heed {
namespace {

bool is_float_of(ForeignType type) {
  return type == ForeignType::f32 || type == ForeignType::bf16 || type == ForeignType::f16;
}

// [rows, columns], or the other way round where it is transposed. A vector may have further extents of 1.
bool has_shape_of(const ArchiveTensor& tensor, const NamedTensor& named) {
  const int64_t rows = named.count() + named.skipped_rows;
  if (named.is_vector()) {
    return tensor.elements() == rows && std::ranges::count(tensor.shape, rows) > 0;
  }
  const int64_t columns = named.columns();
  // Positions that the model does not use may follow.
  if (named.has(WeightRole::position_embedding)) {
    return tensor.shape.size() == 2 && tensor.shape[0] >= rows && tensor.shape[1] == columns;
  }
  return named.form == ForeignForm::transposed ? tensor.shape == std::vector{columns, rows}
                                               : tensor.shape == std::vector{rows, columns};
}

std::string expected_shape(const NamedTensor& named) {
  const int64_t rows = named.count() + named.skipped_rows;
  if (named.is_vector()) {
    return fmt::format("[{}]", rows);
  }
  const int64_t columns = named.columns();
  return named.form == ForeignForm::transposed ? fmt::format("[{}, {}]", columns, rows)
                                               : fmt::format("[{}, {}]", rows, columns);
}

bool is_same(const ArchiveTensor& a, const ArchiveTensor& b) {
  return a.type == b.type && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

// The tensor by its name or by that of a copy; marks all of them as used. FormatError where none is there, or they
// differ.
const ArchiveTensor& tensor_of(const TensorArchive& archive, const NamedTensor& named,
                               std::set<std::string, std::less<>>& used) {
  std::vector<std::string> names{named.name};
  names.insert(names.end(), named.copies.begin(), named.copies.end());
  const ArchiveTensor* found = nullptr;
  for (const std::string& name : names) {
    const ArchiveTensor* const tensor = archive.find(name);
    if (tensor == nullptr) {
      continue;
    }
    used.insert(tensor->name);
    found = found == nullptr ? tensor : found;
    require<FormatError>(found == tensor || is_same(*found, *tensor), archive.where(),
                         "'{}' and '{}' differ, but the model has one table for both", found->name, name);
  }
  require<FormatError>(found != nullptr, archive.where(), "there is no tensor '{}', which the model has as {}",
                       named.name, expected_shape(named));
  require<FormatError>(has_shape_of(*found, named), archive.where(*found), "{}, but the model has {}", found->text(),
                       expected_shape(named));
  return *found;
}

void require_nothing_else(const TensorArchive& archive, const ForeignNames& names,
                          const std::set<std::string, std::less<>>& used) {
  for (const ArchiveTensor& tensor : archive.tensors()) {
    const bool known =
        used.contains(tensor.name) || std::ranges::any_of(names.without_weight, [&](std::string_view part) {
          return tensor.name.find(part) != std::string::npos;
        });
    require<FormatError>(known, archive.where(tensor), "{} is not a weight that heed's form of the model has",
                         tensor.text());
  }
}

constexpr int64_t kBlockOfIntegers = 32;  // of q8_0 and of q4_0

// What rounding changed in tensors of blocks.
struct RoundedBlocks {
  int64_t tensors = 0;
  double squares = 0.0, errors = 0.0;

  void add(const ArchiveTensor& tensor, StoredType to) {
    const int64_t elements = tensor.elements(), at_once = 256 * block_of(tensor.type).elements;
    ++tensors;
    if (to != StoredType::f16) {
      return;  // they keep their integers and scales
    }
    for (int64_t first = 0; first < elements; first += at_once) {
      std::vector<float> values(static_cast<size_t>(std::min(at_once, elements - first)));
      read_floats(tensor, first, values);
      for (const float value : values) {
        if (!(std::abs(value) <= kLargestHalf)) {
          continue;  // such a matrix is refused when it is loaded
        }
        const auto exact = static_cast<double>(value),
                   rounded = static_cast<double>(widened_half(narrowed_half(value)));
        squares += exact * exact;
        errors += (exact - rounded) * (exact - rounded);
      }
    }
  }
  double relative_error() const { return squares > 0.0 ? std::sqrt(errors / squares) : 0.0; }
};

}  // namespace

ForeignWeights::ForeignWeights(std::shared_ptr<const TensorArchive> archive, const ForeignNames& names,
                               const ModelConfig& config, BlocksAs blocks)
    : TensorFile(archive->where()),
      archive_(std::move(archive)),
      embedding_scale_(
          config.embedding_scale == EmbeddingScale::sqrt_model ? std::sqrt(static_cast<double>(config.model)) : 1.0),
      blocks_(blocks),
      layout_(config) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  std::map<std::string_view, std::vector<Piece>> pieces;
  std::set<std::string, std::less<>> used;
  for (const NamedTensor& named : named_tensors(names, weights)) {
    const ArchiveTensor& tensor = tensor_of(*archive_, named, used);
    if (named.zero_rows > 0) {
      pieces[named.rows.front().weight->name()].push_back(
          {&zeros_beside(tensor, named), ForeignForm::same, 0, named.zero_rows, 0, named.zero_rows, 0});
    }
    int64_t row = 0;
    for (const WeightRows& part : named.rows) {
      pieces[part.weight->name()].push_back(
          {&tensor, named.form, part.first, part.count, row, named.count(), named.skipped_rows});
      row += part.count;
    }
  }
  for (const Weight& weight : weights.all()) {
    add_weight(weight, std::move(pieces[weight.name()]));
  }
  require_nothing_else(*archive_, names, used);
}

const ArchiveTensor& ForeignWeights::zeros_beside(const ArchiveTensor& tensor, const NamedTensor& named) {
  const int64_t columns = named.is_vector() ? 1 : named.columns();
  ArchiveTensor& zeros = zeros_.emplace_back(tensor);
  zeros.name.clear();
  zeros.shape = named.is_vector() ? std::vector{named.zero_rows} : std::vector{named.zero_rows, columns};
  zeros.bytes = zero_bytes_.emplace_back(tensor.bytes.size() / static_cast<size_t>(named.count()) *
                                         static_cast<size_t>(named.zero_rows));
  return zeros;
}

std::vector<std::string> ForeignWeights::sources_of(std::string_view weight) const {
  std::vector<std::string> names;
  for (const Piece& piece : pieces_.find(weight)->second) {
    if (!piece.tensor->name.empty()) {
      names.push_back(piece.tensor->name);
    }
  }
  return names;
}

void ForeignWeights::add_weight(const Weight& weight, std::vector<Piece> pieces) {
  std::ranges::sort(pieces, {}, &Piece::first);
  int64_t rows = 0;
  for (const Piece& piece : pieces) {
    require<FormatError>(piece.first == rows, path().string(), "nothing gives row {} of {}", rows, weight.name());
    rows += piece.count;
  }
  const Shape& shape = weight.shape();
  require<FormatError>(rows == shape[0], path().string(), "nothing gives {}, which the model has as {}",
                       rows == 0 ? weight.name() : fmt::format("row {} of {}", rows, weight.name()), shape);
  StoredTensor tensor{.name = weight.name(), .type = type_for(weight, pieces)};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    tensor.shape.push_back(shape[axis]);
  }
  if (tensor.type == StoredType::i8 || tensor.type == StoredType::u8) {
    const bool is_int8 = tensor.type == StoredType::i8;
    const auto only = [&](BlockField part) {
      std::ranges::for_each(pieces, [part](Piece& piece) { piece.part = part; });
      return pieces;
    };
    add({.name = scales_of(weight.name()),
         .type = StoredType::f16,
         .shape = {shape.rows(), shape.columns() / kBlockOfIntegers}});
    pieces_.emplace(scales_of(weight.name()), only(BlockField::scales));
    pieces = only(BlockField::integers);
    tensor.shape.back() /= is_int8 ? 1 : 2;
  }
  if (is_as_stored(pieces, tensor)) {
    const Piece& only = pieces.front();
    const auto row_bytes = static_cast<size_t>(tensor.row_bytes());
    tensor.bytes = only.tensor->bytes.subspan(static_cast<size_t>(row_in(only, only.row)) * row_bytes,
                                              static_cast<size_t>(tensor.rows()) * row_bytes);
  }
  add(tensor);
  pieces_.emplace(weight.name(), std::move(pieces));
}

StoredType ForeignWeights::type_for(const Weight& weight, const std::vector<Piece>& pieces) const {
  const auto are_all = [&](auto&& condition) {
    return std::ranges::all_of(pieces, [&](const Piece& piece) { return condition(piece.tensor->type); });
  };
  const bool is_kept = weight.use() != WeightUse::vector && std::ranges::none_of(pieces, [](const Piece& piece) {
                         return piece.form == ForeignForm::scaled_by_model;
                       });
  const bool has_transposed =
      std::ranges::any_of(pieces, [](const Piece& piece) { return piece.form == ForeignForm::transposed; });
  const ForeignType first = pieces.front().tensor->type;
  if (!is_kept) {
    return StoredType::f32;
  }
  if (is_float_of(first) && are_all([&](ForeignType type) { return type == first; })) {
    return *stored_type(first);
  }
  const bool keeps_blocks = blocks_ == BlocksAs::stored && !has_transposed;
  if (keeps_blocks && are_all([](ForeignType type) { return type == ForeignType::q8_0; })) {
    return StoredType::i8;
  }
  if (keeps_blocks && are_all([](ForeignType type) { return type == ForeignType::q4_0; })) {
    return StoredType::u8;
  }
  return !has_transposed && are_all([](ForeignType type) { return is_block(type) || type == ForeignType::f16; })
             ? StoredType::f16
             : StoredType::f32;
}

bool ForeignWeights::is_as_stored(const std::vector<Piece>& pieces, const StoredTensor& tensor) const {
  return pieces.size() == 1 && pieces.front().form == ForeignForm::same &&
         stored_type(pieces.front().tensor->type) == tensor.type;
}

int64_t ForeignWeights::row_in(const Piece& piece, int64_t row) const {
  return piece.skipped_rows + layout_.row_in(piece.form, row, piece.all_rows);
}

std::span<const std::byte> ForeignWeights::rows(const StoredTensor& tensor, RowSpan wanted,
                                                std::vector<std::byte>& buffer) const {
  if (!tensor.bytes.empty()) {
    return TensorFile::rows(tensor, wanted, buffer);
  }
  buffer.resize(static_cast<size_t>(wanted.count * tensor.row_bytes()));
  std::byte* to = buffer.data();
  for (const Piece& piece : pieces_.find(tensor.name)->second) {
    const int64_t first = std::max(wanted.first, piece.first);
    const int64_t count = std::min(wanted.first + wanted.count, piece.first + piece.count) - first;
    if (count <= 0) {
      continue;
    }
    const RowSpan of_piece{piece.row + first - piece.first, count};
    if (piece.form == ForeignForm::transposed) {
      read_transposed(piece, tensor, of_piece, to);
    } else {
      read_rows(piece, tensor, of_piece, to);
    }
    to += count * tensor.row_bytes();
  }
  return buffer;
}

// What a tensor has of blocks that keep their integers, in rows that follow each other in the file too.
void ForeignWeights::read_block_part(const Piece& piece, RowSpan rows, std::byte* to) const {
  const BlockSize block = block_of(piece.tensor->type);
  const int64_t in_row = piece.tensor->columns() / block.elements, blocks = rows.count * in_row;
  const std::span<const std::byte> from = piece.tensor->bytes.subspan(
      static_cast<size_t>(rows.first * in_row * block.bytes), static_cast<size_t>(blocks * block.bytes));
  if (piece.part == BlockField::integers) {
    read_block_integers(piece.tensor->type, from.data(), blocks, to);
  } else {
    read_block_scales(piece.tensor->type, from.data(), blocks, to);
  }
  archive_->give_back(from);
}

// Rows that follow each other in the file too.
void ForeignWeights::read_converted(const Piece& piece, const StoredTensor& tensor, RowSpan rows, std::byte* to) const {
  if (piece.part != BlockField::all) {
    read_block_part(piece, rows, to);
    return;
  }
  const int64_t columns = tensor.elements() / tensor.rows(), elements = rows.count * columns;
  if (tensor.type == StoredType::f16) {
    std::vector<float> values(static_cast<size_t>(elements));
    read_floats(*piece.tensor, rows.first * columns, values);
    require<FormatError>(std::ranges::all_of(values, [](float x) { return std::abs(x) <= kLargestHalf; }),
                         archive_->where(*piece.tensor), "{} holds values beyond f16", piece.tensor->text());
    std::vector<uint16_t> halves(values.size());
    std::ranges::transform(values, halves.begin(), narrowed_half);
    std::memcpy(to, halves.data(), halves.size() * sizeof(uint16_t));
    return;
  }
  const std::span values(reinterpret_cast<float*>(to), static_cast<size_t>(elements));
  read_floats(*piece.tensor, rows.first * columns, values);
  if (piece.form == ForeignForm::scaled_by_model) {
    std::ranges::for_each(values, [&](float& x) { x = static_cast<float>(static_cast<double>(x) / embedding_scale_); });
  }
}

void ForeignWeights::read_rows(const Piece& piece, const StoredTensor& tensor, RowSpan rows, std::byte* to) const {
  const auto row_bytes = static_cast<size_t>(tensor.row_bytes());
  const bool same_type = stored_type(piece.tensor->type) == tensor.type;
  for (int64_t done = 0; done < rows.count;) {
    // As many rows at once as follow each other there, too.
    const int64_t row = row_in(piece, rows.first + done);
    int64_t count = 1;
    while (done + count < rows.count && row_in(piece, rows.first + done + count) == row + count) {
      ++count;
    }
    const auto begin = static_cast<size_t>(row) * row_bytes, size = static_cast<size_t>(count) * row_bytes;
    if (same_type) {
      const auto bytes = piece.tensor->bytes.subspan(begin, size);
      std::ranges::copy(bytes, to);
      archive_->give_back(bytes);
    } else {
      read_converted(piece, tensor, {row, count}, to);
    }
    to += size;
    done += count;
  }
}

std::vector<ForeignWeights::Conversion> ForeignWeights::conversions() const {
  std::map<std::pair<ForeignType, StoredType>, RoundedBlocks> sums;
  std::set<const ArchiveTensor*> seen;
  for (const StoredTensor& tensor : tensors()) {
    for (const Piece& piece : pieces_.find(tensor.name)->second) {
      const bool is_matrix = tensor.type == StoredType::i8 || tensor.type == StoredType::u8 ||
                             (tensor.type == StoredType::f16 && piece.part == BlockField::all);
      if (is_matrix && is_block(piece.tensor->type) && seen.insert(piece.tensor).second) {
        sums[{piece.tensor->type, tensor.type}].add(*piece.tensor, tensor.type);
        archive_->give_back(piece.tensor->bytes);
      }
    }
  }
  std::vector<Conversion> conversions;
  conversions.reserve(sums.size());
  for (const auto& [types, sum] : sums) {
    conversions.push_back({types.first, types.second, sum.tensors, sum.relative_error()});
  }
  return conversions;
}

// The tensor has a column for each row; some rows are neighbouring columns.
void ForeignWeights::read_transposed(const Piece& piece, const StoredTensor& tensor, RowSpan rows,
                                     std::byte* to) const {
  const int64_t columns = tensor.elements() / tensor.rows(), width = piece.tensor->columns();
  const auto size = static_cast<size_t>(size_of(tensor.type));
  const bool same_type = stored_type(piece.tensor->type) == tensor.type;
  std::vector<float> values(same_type ? 0 : static_cast<size_t>(rows.count));
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t first = column * width + piece.skipped_rows + rows.first;
    if (!same_type) {
      read_floats(*piece.tensor, first, values);
    }
    const std::byte* const from = same_type ? piece.tensor->bytes.data() + static_cast<size_t>(first) * size
                                            : reinterpret_cast<const std::byte*>(values.data());
    for (int64_t row = 0; row < rows.count; ++row) {
      std::memcpy(to + static_cast<size_t>(row * columns + column) * size, from + static_cast<size_t>(row) * size,
                  size);
    }
  }
}

}  // namespace heed
