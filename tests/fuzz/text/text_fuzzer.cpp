// Text, plain or compressed: its lines, their normal forms, and how like each other the metrics find them.
#include "data/lines/line_reader.h"
#include "eval/bleu.h"
#include "eval/chrf.h"
#include "fuzz/fuzz.h"
#include "text/unicode/normalization.h"

using namespace heed;

namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  LineReader reader(file, {.max_bytes = 200, .long_lines = LongLines::mark});
  std::vector<std::string> lines;
  for (std::string line; lines.size() < 100 && reader.next(line);) {
    lines.push_back(line);
  }
  return lines;
}

void check_normal_forms(const std::string& line) {
  for (const NormalForm form : {NormalForm::none, NormalForm::nfc, NormalForm::nfkc}) {
    for (const LetterCase letter_case : {LetterCase::kept, LetterCase::lower}) {
      const std::string normal = normalize(line, {form, letter_case});
      ensure(normalize(normal, {form, letter_case}) == normal, "fuzz", "'{}' has two normal forms", line);
    }
  }
}

void check_scores(const std::string& hypothesis, const std::string& reference) {
  const std::vector<std::string> hypotheses{hypothesis};
  const std::vector<std::vector<std::string>> references{{reference}};
  for (const LetterCase letters : {LetterCase::kept, LetterCase::lower}) {
    for (const double score :
         {bleu(hypotheses, references, letters).score, chrf(hypotheses, references, WordOrder::two, letters)}) {
      ensure(score >= 0.0 && score <= 100.0 + 1e-9, "fuzz", "scores {}", score);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const fuzz::MemoryFile file(fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&file] {
    const std::vector<std::string> lines = lines_of(file.path());
    for (size_t i = 0; i < lines.size(); ++i) {
      check_normal_forms(lines[i]);
      check_scores(lines[i], lines[i / 2]);
    }
  });
  return 0;
}
