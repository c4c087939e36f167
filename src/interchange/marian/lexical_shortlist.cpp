#include "interchange/marian/lexical_shortlist.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "interchange/archive/byte_reader.h"

namespace heed {
namespace {

constexpr uint64_t kShortlistMagic = 0xF11A48D5013417F5;
constexpr size_t kMaxShortlistText = size_t{1} << 30, kMaxShortlistLine = 4096;

std::vector<int32_t> first_tokens(uint64_t count, int64_t vocabulary) {
  std::vector<int32_t> tokens(std::min(count, static_cast<uint64_t>(vocabulary)));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

// Over whole words of 64 bits; bytes after the last one are not covered.
uint64_t checksum_of(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (size_t at = 0; at + sizeof sum <= bytes.size(); at += sizeof sum) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    sum ^= word + 0x9e3779b9 + (sum << 6) + (sum >> 2);
  }
  return sum;
}

struct CloseGzip {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

// Calls `use` with each line of a file, which may be compressed.
template <class Use>
void for_each_line(const std::filesystem::path& path, Use&& use) {
  const GzipFile file(gzopen(path.c_str(), "rb"));
  require<IoError>(file != nullptr, path.string(), "cannot open");
  std::vector<char> buffer(kMaxShortlistLine);
  size_t bytes = 0;
  for (size_t number = 1; gzgets(file.get(), buffer.data(), static_cast<int>(buffer.size())) != nullptr; ++number) {
    std::string_view line(buffer.data());
    bytes += line.size();
    require<FormatError>(bytes <= kMaxShortlistText, path.string(), "holds more than 1 GiB of text");
    require<FormatError>(line.ends_with('\n') || gzeof(file.get()) != 0, path.string(),
                         "line {} is longer than {} bytes, or has a zero byte", number, kMaxShortlistLine);
    use(line.substr(0, line.find_last_not_of("\r\n") + 1), number);
  }
  int code = Z_OK;
  gzerror(file.get(), &code);
  require<FormatError>(code == Z_OK || code == Z_STREAM_END, path.string(), "its compressed bytes are broken");
}

// Fields between spaces.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
      return fields;
    }
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

struct LikelyTarget {
  float probability;
  int32_t token;
};

}  // namespace

bool is_binary_shortlist(const std::filesystem::path& path) {
  const MappedFile mapped(path);
  ByteReader file({mapped.data(), mapped.size()}, path.string());
  return file.left() >= sizeof kShortlistMagic && file.number<uint64_t>("the mark") == kShortlistMagic;
}

ShortlistTable read_binary_shortlist(const std::filesystem::path& path, const TranslationTokenizers& tokenizers) {
  const MappedFile mapped(path);
  const std::string where = path.string();
  ByteReader file({mapped.data(), mapped.size()}, where);
  require<FormatError>(file.number<uint64_t>("the mark") == kShortlistMagic, where, "is not a binary shortlist");
  const auto checksum = file.number<uint64_t>("the checksum");
  const uint64_t covered = file.at();
  const auto frequent = file.number<uint64_t>("the number of frequent tokens");
  file.number<uint64_t>("the number of targets of a token");
  const auto offsets = file.number<uint64_t>("the number of source tokens"),
             targets = file.number<uint64_t>("the number of targets");
  file.require_room(offsets, sizeof(uint64_t), "source tokens");
  // The last token may be the one that was added to Marian's, with which decoding begins.
  const auto tokens = static_cast<uint64_t>(tokenizers.source.vocabulary_size());
  require<FormatError>(offsets == tokens + 1 || offsets == tokens, where,
                       "is of a source vocabulary of {} tokens, but the tokenizer has {}",
                       static_cast<int64_t>(offsets) - 1, tokens);
  ShortlistTable table{first_tokens(frequent, tokenizers.target.vocabulary_size()), {}, {}};
  uint64_t end = file.number<uint64_t>("an offset");
  require<FormatError>(end == 0, where, "its lists begin at {}, expected 0", end);
  for (uint64_t token = 1; token < offsets; ++token) {
    const auto next = file.number<uint64_t>("an offset");
    require<FormatError>(next >= end && next <= targets, where, "the list of source token {} ends at {} of {}",
                         token - 1, next, targets);
    end = next;
    table.ends.push_back(static_cast<int64_t>(end));
  }
  table.ends.resize(tokens, static_cast<int64_t>(end));
  require<FormatError>(end == targets, where, "its lists end at {} of {}", end, targets);
  file.require_room(targets, sizeof(uint32_t), "targets");
  table.targets.reserve(targets);
  for (uint64_t i = 0; i < targets; ++i) {
    const auto target = file.number<uint32_t>("a target");
    require<FormatError>(target < static_cast<uint64_t>(tokenizers.target.vocabulary_size()), where,
                         "has target token {}, but the vocabulary has {}", target, tokenizers.target.vocabulary_size());
    table.targets.push_back(static_cast<int32_t>(target));
  }
  require<FormatError>(file.left() == 0, where, "has {} bytes more than its lists", file.left());
  const uint64_t sum = checksum_of(std::span(mapped.data(), mapped.size()).subspan(covered));
  require<FormatError>(sum == checksum, where, "its checksum is {:#x}, but {:#x} is written: the file was damaged", sum,
                       checksum);
  return table;
}

ShortlistTable read_text_shortlist(const std::filesystem::path& path, const TranslationTokenizers& tokenizers,
                                   ShortlistSizes sizes) {
  const std::string where = path.string();
  std::vector<std::vector<LikelyTarget>> lists(static_cast<size_t>(tokenizers.source.vocabulary_size()));
  for_each_line(path, [&](std::string_view line, size_t number) {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.empty()) {
      return;
    }
    float probability = 0.0F;
    require<FormatError>(fields.size() == 3, where, "line {} has {} fields, expected 3", number, fields.size());
    const auto [end, error] = std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), probability);
    require<FormatError>(error == std::errc() && end == fields[2].data() + fields[2].size() && probability >= 0.0F,
                         where, "line {}: '{}' is not a probability", number, shown(fields[2]));
    const std::optional<TokenId> target = tokenizers.target.find(fields[0]), source = tokenizers.source.find(fields[1]);
    if (target && source) {
      lists[static_cast<size_t>(source->value)].push_back({probability, target->value});
    }
  });
  ShortlistTable table{
      first_tokens(static_cast<uint64_t>(std::max<int64_t>(sizes.frequent, 0)), tokenizers.target.vocabulary_size()),
      {},
      {}};
  for (std::vector<LikelyTarget>& list : lists) {
    std::ranges::stable_sort(list, std::ranges::greater(), &LikelyTarget::probability);
    std::vector<int32_t> kept;
    for (const LikelyTarget& target : list) {
      if (std::ssize(kept) < sizes.best && std::ranges::find(kept, target.token) == kept.end()) {
        kept.push_back(target.token);
      }
    }
    table.targets.insert(table.targets.end(), kept.begin(), kept.end());
    table.ends.push_back(static_cast<int64_t>(table.targets.size()));
  }
  return table;
}

}  // namespace heed
