#include "report/run/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "base/system/files.h"
#include "models/random_weights.h"
#include "report/figures/positions.h"
#include "test_folder.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::unique_ptr<Tokenizer> letters() {
  bool given = false;
  return train_tokenizer({.kind = TokenizerKind::character}, [&](std::string& line) {
    line = "abcdefghijklmnopqrstuvwxyz ";
    return !std::exchange(given, true);
  });
}

// Its heads attend to different positions.
struct RandomTranslator : test::RandomWeights {
  explicit RandomTranslator(int64_t max_length = 64, uint64_t seed = 7,
                            Autoregression autoregression = Autoregression::attention)
      : tokenizer(letters()) {
    const int64_t vocabulary = tokenizer->vocabulary_size();
    config = {.model = 32,
              .inner = 48,
              .heads = 4,
              .key_value_heads = 2,
              .encoder_layers = 2,
              .decoder_layers = 3,
              .source_vocabulary = vocabulary,
              .target_vocabulary = vocabulary,
              .max_length = max_length,
              .autoregression = autoregression};
    draw(config, DType::f32, seed);
    bias(tokenizer->special().eos, -3.0F);  // ends late enough to have something to show
    scheduler.emplace(Inference{*model, *backend, DType::f32});
  }
  TextTranslator translator() { return {*scheduler, {*tokenizer, *tokenizer}}; }

  std::unique_ptr<Tokenizer> tokenizer;
  ModelConfig config;
  std::optional<Scheduler> scheduler;
};

// The sum of each row of a map, in 255ths.
std::vector<int> row_sums(const std::string& maps, size_t columns) {
  std::vector<int> sums;
  for (size_t first = 0; first < maps.size(); first += columns) {
    int sum = 0;
    for (size_t i = first; i < first + columns; ++i) {
      sum += static_cast<uint8_t>(maps[i]);
    }
    sums.push_back(sum);
  }
  return sums;
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    path_ = test::folder_of_test();
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::filesystem::path file(const std::string& name, const std::string& text) const {
    write_file(path_ / name, text);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

TEST(ReportSamples, OfARecurrentDecoderHaveNoMapsOfItsSelfAttention) {
  RandomTranslator m(64, 7, Autoregression::ssru);
  const Samples samples = translate_samples(m.translator(), {{"abc def", ""}}, {});
  ASSERT_THAT(samples.translated, SizeIs(1));
  EXPECT_THAT(samples.translated.front().maps.decoder, IsEmpty());
  EXPECT_FALSE(samples.translated.front().maps.cross.empty());
}

TEST(ReportSamples, MapsHaveARowOfOneForEachTokenOfEachHeadAndLayer) {
  RandomTranslator random;
  const Samples samples = translate_samples(random.translator(), {{"a dog runs", ""}, {"hello", ""}}, {});
  ASSERT_THAT(samples.translated, SizeIs(2));
  for (const TranslatedSample& s : samples.translated) {
    const size_t sources = s.source_tokens.size(), targets = s.target_tokens.size();
    EXPECT_EQ(s.fed_tokens.size(), targets);
    EXPECT_EQ(s.log_probabilities.size(), targets);
    EXPECT_EQ(s.maps.cross.size(), 3 * 4 * targets * sources);
    EXPECT_EQ(s.maps.encoder.size(), 2 * 4 * sources * sources);
    EXPECT_EQ(s.maps.decoder.size(), 3 * 4 * targets * targets);
    for (const auto& [maps, columns] :
         {std::pair(&s.maps.cross, sources), {&s.maps.encoder, sources}, {&s.maps.decoder, targets}}) {
      for (const int sum : row_sums(*maps, columns)) {
        EXPECT_NEAR(sum, 255, static_cast<double>(columns) / 2);
      }
    }
  }
}

TEST(ReportSamples, NoStepOfTheDecoderSeesALaterToken) {
  RandomTranslator random;
  const Samples samples = translate_samples(random.translator(), {{"a dog runs", ""}}, {});
  const TranslatedSample& s = samples.translated.front();
  const size_t n = s.target_tokens.size();
  ASSERT_GT(n, 2U);
  int before = 0;
  for (size_t i = 0; i < s.maps.decoder.size(); ++i) {
    const size_t row = i / n % n, column = i % n;
    const int weight = static_cast<uint8_t>(s.maps.decoder[i]);
    if (column > row) {
      EXPECT_EQ(weight, 0) << row << ' ' << column;
    } else if (column < row) {
      before += weight;
    }
  }
  EXPECT_GT(before, 0);
}

TEST(ReportSamples, TheSecondPassAgreesWithTheSearch) {
  RandomTranslator random;
  const TextTranslator translator = random.translator();
  const std::vector<std::string> texts{"a dog runs", "hello there"};
  const TranslationOptions options{.beam = 3};
  const auto found = translate_lines(translator, texts, options, [](size_t) { return "line"; });
  const Samples samples = translate_samples(translator, {{texts[0], ""}, {texts[1], ""}}, options);
  for (size_t i = 0; i < texts.size(); ++i) {
    const TranslatedSample& s = samples.translated[i];
    EXPECT_EQ(s.translation, found[i].front().translation.text);
    EXPECT_EQ(s.target_tokens.size(), found[i].front().ids.size() + 1);
    EXPECT_NEAR(std::accumulate(s.log_probabilities.begin(), s.log_probabilities.end(), 0.0),
                found[i].front().translation.log_probability, 1e-3);
  }
}

TEST(ReportSamples, EndWhenTheyAreInterrupted) {
  RandomTranslator random;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(
      translate_samples(random.translator(), {{"a dog runs", ""}}, {.interruption = {.stop = stop.get_token()}}),
      InterruptedError);
}

TEST(ReportSamples, TokensAreLabelledAsTheStepsReadAndProduceThem) {
  RandomTranslator random;
  const Samples samples = translate_samples(random.translator(), {{"ab c", ""}}, {});
  const TranslatedSample& s = samples.translated.front();
  EXPECT_THAT(s.source_tokens, ElementsAre("a", "b", "\xE2\x96\x81", "c", "</s>"));
  EXPECT_EQ(s.target_tokens.back(), "</s>");
  EXPECT_EQ(s.fed_tokens.front(), "<s>");
  EXPECT_TRUE(std::equal(s.target_tokens.begin(), s.target_tokens.end() - 1, s.fed_tokens.begin() + 1));
}

TEST(ReportSamples, ASentenceTooLongForTheModelIsLeftOutAndReported) {
  RandomTranslator random(8);
  const Samples samples = translate_samples(random.translator(), {{"abcdefgh", ""}, {"abcdefg", ""}}, {});
  ASSERT_THAT(samples.translated, SizeIs(1));
  EXPECT_EQ(samples.translated.front().line.source, "abcdefg");
  EXPECT_THAT(samples.notes, ElementsAre(HasSubstr("1 of the sample sentences is longer than the model takes")));
}

TEST(ReportSamples, ASentenceTooLongForAPageHasNoMaps) {
  RandomTranslator random(512);
  const Samples samples = translate_samples(random.translator(), {{std::string(200, 'a'), ""}}, {.max_length = 4});
  EXPECT_EQ(samples.translated.front().maps.cross.size(), 0U);
  EXPECT_THAT(samples.translated.front().log_probabilities, SizeIs(samples.translated.front().target_tokens.size()));
}

TEST(ReportSamples, SelfAttentionIsDroppedFirstWhenThePageWouldBeTooLarge) {
  RandomTranslator random(512);
  const std::vector<SampleLine> many(40, {std::string(110, 'a'), ""});
  const Samples samples = translate_samples(random.translator(), many, {.max_length = 4});
  EXPECT_THAT(samples.notes, ElementsAre(HasSubstr("Self-attention is left out")));
  for (const TranslatedSample& s : samples.translated) {
    EXPECT_EQ(s.maps.encoder.size() + s.maps.decoder.size(), 0U);
    EXPECT_EQ(s.maps.cross.size(), 3 * 4 * s.target_tokens.size() * s.source_tokens.size());
  }
}

TEST_F(Folder, SampleLinesAreTheFirstNonBlankOnesWithTheirReferences) {
  const auto source = file("s", "one\n \t\ntwo\nthree\n"), more = file("m", "four\n"),
             reference = file("r", "1\n-\n2\n");
  const std::vector<SampleLine> lines = read_sample_lines({source, more}, {reference}, 4);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0].reference, "1");
  EXPECT_EQ(lines[1].source, "two");
  EXPECT_EQ(lines[1].reference, "2");
  EXPECT_EQ(lines[2].source, "three");
  EXPECT_EQ(lines[2].reference, "");
  EXPECT_EQ(lines[3].source, "four");
  EXPECT_EQ(lines[3].reference, "");
  EXPECT_THAT(read_sample_lines({source}, {}, 2), SizeIs(2));
  EXPECT_THAT(read_sample_lines({source}, {}, 0), IsEmpty());
}

double value_of(const PositionMap& map, size_t row, size_t column) {
  return (static_cast<uint8_t>(map.values[row * map.columns.size() + column]) / 127.5 - 1.0) * map.limit;
}

TEST(ReportPositions, SinesAndCosinesStayTogether) {
  const auto map = position_map({.model = 512, .positions = Positions::sinusoidal}, "absent");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->positions, 64);
  ASSERT_THAT(map->columns, SizeIs(128));
  EXPECT_EQ(map->columns[0], 0);
  EXPECT_EQ(map->columns[1], 1);
  EXPECT_EQ(map->columns[2], 8);
  EXPECT_EQ(map->columns[127], 505);
  for (const size_t p : {0U, 1U, 40U}) {
    for (const size_t c : {0U, 1U, 2U, 3U, 60U}) {
      const auto column = static_cast<double>(map->columns[c] / 2 * 2);
      const double angle = static_cast<double>(p) * std::pow(10000.0, -column / 512.0);
      EXPECT_NEAR(value_of(*map, p, c), map->columns[c] % 2 == 0 ? std::sin(angle) : std::cos(angle), 0.005);
    }
  }
}

TEST(ReportPositions, AreAtMostThoseThatTheModelHas) {
  const auto map = position_map({.model = 7, .max_length = 5, .positions = Positions::sinusoidal}, "absent");
  EXPECT_EQ(map->positions, 5);
  EXPECT_THAT(map->columns, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(map->values.size(), 35U);
}

TEST(ReportPositions, OfRotaryModelsAreTheCosinesOfTheAngles) {
  const auto map = position_map({.model = 32, .heads = 4, .positions = Positions::rotary}, "absent");
  EXPECT_THAT(map->columns, ElementsAre(0, 1, 2, 3));
  EXPECT_NEAR(value_of(*map, 3, 1), std::cos(3 * std::pow(10000.0, -2.0 / 8)), 0.005);
}

TEST(ReportPositions, OfAModelWithoutPositionsOrWeightsAreMissing) {
  EXPECT_FALSE(position_map({.positions = Positions::none}, "absent"));
  EXPECT_FALSE(position_map({.positions = Positions::learned}, "absent"));
}

}  // namespace
}  // namespace heed
