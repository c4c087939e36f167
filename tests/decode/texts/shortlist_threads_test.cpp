#include "decode/texts/shortlist_testing.h"

namespace heed::test {
namespace {

TEST(ShortlistThreads, ThreadsChangeNothing) {
  std::vector<std::vector<std::vector<TranslatedLine>>> found;
  const std::vector<std::string> lines = lines_of(150);
  for (const int threads : {1, 2, 3}) {
    RandomTranslator t(DType::f32, threads);
    const Shortlist some = random_shortlist(*t.tokenizer, 3);
    t.translator->shortlist = &some;
    found.push_back(t.translate(lines, {.beam = 2, .n_best = 2, .max_length = 8}));
    for (size_t i = 0; i < lines.size(); ++i) {
      expect_same_translations(found.back()[i], found.front()[i], lines[i]);
    }
  }
}

}  // namespace
}  // namespace heed::test
