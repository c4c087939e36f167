#include "interchange/ctranslate2/model_file_writing.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/errors.h"
#include "base/system/files.h"

namespace heed {
namespace {

constexpr uint32_t kWrittenVersion = 6, kWrittenRevision = 7;
constexpr const char* kWrittenSpec = "TransformerSpec";

// By the number in the file.
constexpr std::array<ForeignType, 6> kWrittenTypes{ForeignType::f32, ForeignType::i8,  ForeignType::i16,
                                                   ForeignType::i32, ForeignType::f16, ForeignType::bf16};

template <class Number>
void put_number(AtomicFile& file, Number number) {
  file.write(&number, sizeof(number));
}

// The length counts the zero at the end.
void put_name(AtomicFile& file, const std::string& name) {
  put_number(file, static_cast<uint16_t>(name.size() + 1));
  file.write(name.c_str(), name.size() + 1);
}

void put_variable(AtomicFile& file, const CTranslate2Variable& variable) {
  const auto* const type = std::ranges::find(kWrittenTypes, variable.type);
  ensure(type != kWrittenTypes.end(), variable.name, "{} is not a type of CTranslate2's", name_of(variable.type));
  const std::vector<std::byte> bytes = variable.bytes();
  ensure(static_cast<int64_t>(bytes.size()) == bytes_of(variable.type, variable.shape), variable.name,
         "{} bytes, which its shape does not hold", bytes.size());
  require<ConfigError>(bytes.size() <= std::numeric_limits<uint32_t>::max(), variable.name,
                       "has {} bytes, but in a file of CTranslate2 a variable has fewer than 4 GiB", bytes.size());
  put_name(file, variable.name);
  put_number(file, static_cast<uint8_t>(variable.shape.size()));
  for (const int64_t extent : variable.shape) {
    put_number(file, static_cast<uint32_t>(extent));
  }
  put_number(file, static_cast<uint8_t>(type - kWrittenTypes.begin()));
  put_number(file, static_cast<uint32_t>(bytes.size()));
  file.write(bytes.data(), bytes.size());
}

}  // namespace

int64_t write_ctranslate2_file(const std::filesystem::path& path, const std::vector<CTranslate2Variable>& variables,
                               const CTranslate2Aliases& aliases, const Interruption& interruption) {
  AtomicFile file(path);
  put_number(file, kWrittenVersion);
  put_name(file, kWrittenSpec);
  put_number(file, kWrittenRevision);
  put_number(file, static_cast<uint32_t>(variables.size()));
  for (const CTranslate2Variable& variable : variables) {
    require_uninterrupted(state_of(interruption), path.string());
    put_variable(file, variable);
  }
  put_number(file, static_cast<uint32_t>(aliases.size()));
  for (const auto& [alias, name] : aliases) {
    put_name(file, alias);
    put_name(file, name);
  }
  file.commit();
  return static_cast<int64_t>(std::filesystem::file_size(path));
}

}  // namespace heed
