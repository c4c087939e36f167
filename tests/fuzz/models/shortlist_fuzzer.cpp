// A shortlist's file of any bytes; and one with the right checksum and any table, so that the numbers get past it.
#include <cstring>

#include "base/system/files.h"
#include "checkpoint/stored_shortlist.h"
#include "fuzz/fuzz.h"
#include "text/tokenizer_training.h"

using namespace heed;

namespace {

std::unique_ptr<Tokenizer> small_tokenizer() {
  bool done = false;
  return train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}},
                         [&](std::string& line) { return !std::exchange(done, true) && (line = "abcdef", true); });
}

// The first two bytes say how many there are of each; then they come, one byte each, of which the highest are negative.
ShortlistTable table_of(std::span<const uint8_t> bytes) {
  const auto take = [&bytes](size_t count, auto& into) {
    for (; count > 0 && !bytes.empty(); --count, bytes = bytes.subspan(1)) {
      into.push_back(static_cast<int8_t>(bytes.front()));
    }
  };
  ShortlistTable table;
  const size_t frequent = bytes[0] % 8, ends = bytes[1] % 16;
  bytes = bytes.subspan(2);
  take(frequent, table.frequent);
  take(ends, table.ends);
  take(bytes.size(), table.targets);
  return table;
}

void use(const std::filesystem::path& path, const Tokenizer& tokenizer) {
  fuzz::allow_refusal([&] {
    const Shortlist shortlist = load_shortlist(path, {tokenizer, tokenizer});
    for (int32_t token = 0; token < tokenizer.vocabulary_size(); ++token) {
      for (const int32_t candidate : shortlist.candidates({&token, 1}, {})) {
        ensure(candidate >= 0 && candidate < tokenizer.vocabulary_size(), "fuzz", "candidate {}", candidate);
      }
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::ScratchFolder scratch;
  static const std::unique_ptr<Tokenizer> tokenizer = small_tokenizer();
  use(fuzz::MemoryFile(fuzz::text_of(bytes, size)).path(), *tokenizer);
  if (size >= 2) {
    const std::filesystem::path path = scratch.path() / "shortlist";
    save_shortlist(path, table_of({bytes, size}), {*tokenizer, *tokenizer});
    use(path, *tokenizer);
  }
  return 0;
}
