// Marian's weights, settings, vocabularies and shortlists of any bytes.
#include "fuzz/fuzz.h"
#include "interchange/marian/flat_yaml.h"
#include "interchange/marian/lexical_shortlist.h"
#include "interchange/marian/marian_vocabulary.h"
#include "interchange/marian/model_file.h"
#include "text/tokenizer_training.h"

using namespace heed;

namespace {

std::unique_ptr<Tokenizer> letters() {
  bool done = false;
  return train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}},
                         [&](std::string& line) { return !std::exchange(done, true) && (line = "abcdef", true); });
}

void use_yaml(std::string_view text) {
  const FlatYaml yaml(text, "fuzz");
  for (const std::string& key : yaml.keys()) {
    ensure(yaml.has(key), "fuzz", "{} is lost", key);
    fuzz::allow_refusal([&] { yaml.text(key); });
    fuzz::allow_refusal([&] { yaml.integer(key); });
    fuzz::allow_refusal([&] { yaml.number(key, 0); });
    fuzz::allow_refusal([&] { yaml.flag(key, false); });
    fuzz::allow_refusal([&] { yaml.integers(key); });
  }
}

void use_shortlist(const std::filesystem::path& path, const Tokenizer& tokenizer) {
  const TranslationTokenizers both{tokenizer, tokenizer};
  const auto check = [&](ShortlistTable table) {
    const Shortlist shortlist(std::move(table), both, "fuzz");
    for (int32_t token = 0; token < tokenizer.vocabulary_size(); ++token) {
      shortlist.candidates({&token, 1}, {});
    }
  };
  fuzz::allow_refusal([&] { check(read_text_shortlist(path, both, {})); });
  fuzz::allow_refusal([&] {
    if (is_binary_shortlist(path)) {
      check(read_binary_shortlist(path, both));
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const std::unique_ptr<Tokenizer> tokenizer = letters();
  const std::string_view content = fuzz::text_of(bytes, size);
  const fuzz::MemoryFile file(content);
  fuzz::allow_refusal([&] { use_yaml(content); });
  use_shortlist(file.path(), *tokenizer);
  for (const char* const name : {"vocab.yml", "vocab.json", "vocab.txt"}) {
    fuzz::allow_refusal([&] { parse_marian_vocabulary(content, name); });
  }
  fuzz::allow_refusal([&] {
    const MarianFile marian = open_marian_file(file.path());
    for (const ArchiveTensor& tensor : marian.tensors.tensors()) {
      ensure(read_floats(tensor).size() == static_cast<size_t>(tensor.elements()), "fuzz", "{} is lost", tensor.text());
    }
    use_yaml(marian.settings);
  });
  return 0;
}
