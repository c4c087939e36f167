#include "train/corpus/translation_data.h"

#include <gtest/gtest.h>

#include "checkpoint/model_directory.h"
#include "decode/texts/translation/translation_frame.h"
#include "source_root.h"

namespace heed::test {
namespace {

// If sources were trained on without the tokens around them, the model would see these for the first time when it
// translates.
TEST(TranslationData, SourcesAreTrainedOnAsTheyAreTranslated) {
  for (const char* const name : {"bart", "m2m-100", "mbart-50"}) {
    const ModelFolder folder{source_root() / "tests/interchange/golden/encoder_decoders" / name};
    const Tokenizers loaded = load_tokenizers(folder, load_description(folder));
    const TranslationTokenizers tokenizers = TranslationTokenizers::of(loaded);
    const SentenceMarks marks = marks_of(tokenizers);
    std::vector<int32_t> trained = marks.before_source;
    trained.push_back(7);
    trained.insert(trained.end(), marks.after_source.begin(), marks.after_source.end());
    EXPECT_EQ(trained, TranslationFrame(tokenizers, {}, {}).around_source({7})) << name;
    EXPECT_EQ(trained.size(), 3) << name;
  }
}

}  // namespace
}  // namespace heed::test
