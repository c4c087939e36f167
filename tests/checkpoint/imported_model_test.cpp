#include "checkpoint/imported_model.h"

#include <gtest/gtest.h>

#include "checkpoint/model_directory.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed::test {
namespace {

class ImportedTranslators : public testing::TestWithParam<const char*> {};

// Marian's and T5's tokenizers have no bos: their translations begin with a token that the model names.
TEST_P(ImportedTranslators, KeepTokenizersAndMarks) {
  const ModelFolder source{source_root() / "tests/interchange/golden/encoder_decoders" / GetParam()};
  const ModelFolder imported{folder_of_test()};
  write_imported_model(source.path, imported);
  const ModelDescription before = load_description(source), after = load_description(imported);
  EXPECT_EQ(after.marks, before.marks);
  const Tokenizers from = load_tokenizers(source, before), to = load_tokenizers(imported, after);
  ASSERT_EQ(to.size(), from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(to[i]->special(), from[i]->special());
    EXPECT_EQ(to[i]->encode("the cat sat"), from[i]->encode("the cat sat"));
  }
  std::filesystem::remove_all(imported.path);
}

INSTANTIATE_TEST_SUITE_P(Families, ImportedTranslators,
                         testing::Values("bart", "m2m-100", "marian", "marian-apart", "mbart-25", "mbart-50", "mt5",
                                         "nllb", "t5", "t5-1.1"));

}  // namespace
}  // namespace heed::test
