// Calls that compute for long without texts of their own: they end when they are stopped, and leave nothing behind.
#include <gtest/gtest.h>

#include "api/random_encoder.h"
#include "heed/evaluate.h"
#include "heed/export.h"
#include "heed/import.h"
#include "heed/quantize.h"
#include "source_root.h"

namespace heed {
namespace {

std::filesystem::path golden(const char* model) { return test::source_root() / "tests/interchange/golden" / model; }

class InterruptionTest : public RandomEncoderTest {
 protected:
  InterruptionTest() { stop_.request_stop(); }

  template <class Call>
  void expect_interrupted(Call call) const {
    EXPECT_THROW(call(), InterruptedError);
    EXPECT_FALSE(std::filesystem::exists(output_)) << output_;
  }

  std::stop_source stop_;
  const Interruption stopped_{.stop = stop_.get_token()};
  const std::string output_ = folder_ / "written";
};

TEST_F(InterruptionTest, ScoringTranslations) {
  const TranslationTexts texts{.hypotheses = {"a dog"}, .references = {{"a dog"}}, .baseline = {}};
  expect_interrupted([&] { score_translations(texts, {.interruption = stopped_}); });
  EXPECT_NEAR(score_translations(texts).chrf2, 100.0, 1e-9);
}

TEST_F(InterruptionTest, Quantizing) {
  make(Head::tokens);
  QuantizeOptions options{.model = folder_, .output = output_, .keep = {}, .calibration = {}, .report = {}};
  options.interruption = stopped_;
  expect_interrupted([&] { quantize(options); });
  options.interruption = {};
  EXPECT_GT(quantize(options).bytes_before, 0);
}

TEST_F(InterruptionTest, Importing) {
  ImportOptions options{.source = golden("decoders/llama"), .output = output_, .interruption = stopped_};
  expect_interrupted([&] { import_model(options); });
  options.interruption = {};
  EXPECT_GT(import_model(options).bytes, 0);
}

TEST_F(InterruptionTest, Exporting) {
  for (const auto& [model, format] :
       {std::pair("decoders/llama", ExportFormat::huggingface), std::pair("decoders/llama", ExportFormat::gguf),
        std::pair("encoder_decoders/marian", ExportFormat::ctranslate2)}) {
    const std::string output = format == ExportFormat::gguf ? output_ + ".gguf" : output_;
    ExportOptions options{.model = golden(model), .output = output, .format = format, .interruption = stopped_};
    EXPECT_THROW(export_model(options), InterruptedError);
    EXPECT_FALSE(std::filesystem::exists(output)) << output;
    options.interruption = {};
    EXPECT_GT(export_model(options).bytes, 0);
    std::filesystem::remove_all(output);
  }
}

}  // namespace
}  // namespace heed
