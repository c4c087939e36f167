#include "interchange/zero_token.h"

#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

constexpr float kNever = -1e9F;  // its exponential is 0 beside that of any other logit

std::vector<std::byte> bytes_of_floats(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// The same tensor with a row of zeros at its end.
void add_zero_row(TensorArchive& archive, const std::string& name) {
  ArchiveTensor longer = archive.at(name);
  const auto row_bytes = longer.bytes.size() / static_cast<size_t>(longer.shape.front());
  std::vector<std::byte> bytes(longer.bytes.begin(), longer.bytes.end());
  bytes.resize(bytes.size() + row_bytes);
  if (longer.divisors.size() > sizeof(float)) {
    std::vector<std::byte> divisors(longer.divisors.begin(), longer.divisors.end());
    const std::vector<std::byte> one = bytes_of_floats({1.0F});
    divisors.insert(divisors.end(), one.begin(), one.end());
    longer.divisors = archive.keep(std::move(divisors));
  }
  ++longer.shape.front();
  longer.bytes = archive.keep(std::move(bytes));
  archive.replace(std::move(longer));
}

// The same for a matrix that has a column for each token.
void add_zero_column(TensorArchive& archive, const std::string& name) {
  ArchiveTensor wider = archive.at(name);
  const std::vector<float> values = read_floats(wider);
  const auto columns = static_cast<size_t>(wider.columns());
  std::vector<float> more;
  more.reserve(values.size() + values.size() / columns);
  for (size_t i = 0; i < values.size(); ++i) {
    more.push_back(values[i]);
    if ((i + 1) % columns == 0) {
      more.push_back(0.0F);
    }
  }
  ++wider.shape.back();
  wider.type = ForeignType::f32;
  wider.divisors = {};
  wider.bytes = archive.keep(bytes_of_floats(more));
  archive.replace(std::move(wider));
}

void add_low_bias(TensorArchive& archive, const std::string& name, int64_t tokens) {
  const ArchiveTensor* const old = archive.find(name);
  std::vector<float> values = old == nullptr ? std::vector<float>(static_cast<size_t>(tokens)) : read_floats(*old);
  values.push_back(kNever);
  ArchiveTensor bias{
      name, ForeignType::f32, {tokens + 1}, archive.keep(bytes_of_floats(values)), old == nullptr ? 0 : old->file};
  old == nullptr ? archive.add(std::move(bias)) : archive.replace(std::move(bias));
}

}  // namespace

int64_t add_zero_token(TensorArchive& archive, const ZeroTokenNames& names) {
  const ArchiveTensor& table = archive.at(names.table);
  require<FormatError>(table.shape.size() == 2 && table.shape[0] > 0, archive.where(table),
                       "{} is not a table of embeddings", table.text());
  const int64_t tokens = table.shape.front();
  if (const ArchiveTensor* const bias = archive.find(names.bias)) {
    require<FormatError>(bias->elements() == tokens, archive.where(*bias), "{}, but the table has {} rows",
                         bias->text(), tokens);
  }
  add_zero_row(archive, names.table);
  if (!names.projection.empty()) {
    const ArchiveTensor& projection = archive.at(names.projection);
    const bool by_rows = projection.shape.size() == 2 && projection.shape.front() == tokens;
    require<FormatError>(by_rows || (projection.shape.size() == 2 && projection.shape.back() == tokens),
                         archive.where(projection), "{}, but the table has {} rows", projection.text(), tokens);
    by_rows ? add_zero_row(archive, names.projection) : add_zero_column(archive, names.projection);
  }
  add_low_bias(archive, names.bias, tokens);
  return tokens;
}

}  // namespace heed
