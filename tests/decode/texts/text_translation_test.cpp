#include "decode/texts/translation/text_translation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decode/texts/translation/alignment.h"
#include "decode/translator_testing.h"

namespace heed::test {
namespace {

using testing::HasSubstr;

template <class Run>
std::string refusal_of(Run&& run) {
  try {
    run();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(TextTranslation, LinesKeepTheirOrderAndDoNotDependOnEachOther) {
  const RandomTranslator t;
  std::vector<std::string> lines;
  for (int i = 0; i < 150; ++i) {
    lines.push_back(corpus()[static_cast<size_t>(i) % 2].substr(0, 1 + static_cast<size_t>(i) % 13));
  }
  for (const int64_t beam : {1, 3}) {
    const TranslationOptions options{.beam = beam, .n_best = beam, .max_length = 8};
    const auto together = t.translate(lines, options);
    ASSERT_EQ(together.size(), lines.size());
    for (size_t i = 0; i < lines.size(); i += 7) {
      const auto alone = t.translate({lines[i]}, options)[0];
      ASSERT_EQ(together[i].size(), alone.size());
      for (size_t h = 0; h < alone.size(); ++h) {
        EXPECT_EQ(together[i][h].translation.text, alone[h].translation.text);
        EXPECT_EQ(together[i][h].translation.score, alone[h].translation.score);
      }
    }
  }
}

TEST(TextTranslation, AnEmptyLineBecomesAnEmptyLine) {
  const RandomTranslator t;
  for (const auto& hypotheses : t.translate({"", "  \t", "\r"}, {.beam = 3, .n_best = 3})) {
    ASSERT_EQ(hypotheses.size(), 1U);
    EXPECT_EQ(hypotheses[0].translation.text, "");
    EXPECT_TRUE(hypotheses[0].ids.empty());
  }
  EXPECT_TRUE(t.translate({}).empty());
}

TEST(TextTranslation, NeitherLineBreaksNorSpecialTokensAreWritten) {
  const RandomTranslator t;
  const int32_t newline = t.tokenizer->find("<U+000A>").value_or(TokenId(-1)).value;
  ASSERT_GE(newline, 0);
  // The model is made to prefer the line break to all else.
  const View bias = t.trainables->find("output.bias").master();
  host<float>(bias).data[newline] = 1e4F;
  const auto result = t.translate({"two dogs"}, {.max_length = 4})[0][0];
  EXPECT_EQ(result.ids, std::vector<int32_t>(3, newline));
  EXPECT_EQ(result.translation.text, "   ");
  const SpecialTokens& special = t.tokenizer->special();
  for (const TokenId token : {special.pad, special.bos}) {
    host<float>(bias).data[token.value] = 2e4F;
    EXPECT_EQ(t.translate({"two dogs"}, {.max_length = 4})[0][0].translation.text, "   ");
  }
}

TEST(TextTranslation, ALineThatIsTooLongIsNamed) {
  const RandomTranslator t;
  const std::string longest(39, 'a'), longer(40, 'a');
  EXPECT_EQ(t.translate({longest}, {.max_length = 2}).size(), 1U);
  EXPECT_THAT(refusal_of([&] {
                t.translate({"a", longest, longer});
              }),
              testing::AllOf(HasSubstr("text:3: "), HasSubstr("41 tokens"), HasSubstr("at most 40")));
  EXPECT_THAT(refusal_of([&] {
                t.translate({"a", "b\xff"});
              }),
              testing::AllOf(HasSubstr("text:2: byte 2"), HasSubstr("UTF-8")));
}

TEST(TextTranslation, PairsAreScoredTheSameAloneAndTogether) {
  const RandomTranslator t;
  const std::vector<std::string> sources{"two dogs", "ein Hund", "", "a man"}, targets{"dogs", "", "man", "the park"};
  const LinePairName where{[](size_t i) { return fmt::format("source:{}", i + 1); },
                           [](size_t i) { return fmt::format("target:{}", i + 1); }};
  const auto scores = score_lines(*t.translator, {sources, targets}, where);
  ASSERT_EQ(scores.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    const auto alone = score_lines(*t.translator, {std::span(&sources[i], 1), std::span(&targets[i], 1)}, where)[0];
    EXPECT_EQ(scores[i].log_probability, alone.log_probability);
    EXPECT_EQ(scores[i].tokens, static_cast<int64_t>(targets[i].size()) + 1);
    EXPECT_LT(scores[i].log_probability, 0.0);
  }
  const std::vector<std::string> longer{std::string(40, 'a')}, fits{"a"};
  EXPECT_THAT(refusal_of([&] { score_lines(*t.translator, {longer, fits}, where); }), HasSubstr("source:1: 41 tokens"));
  EXPECT_THAT(refusal_of([&] { score_lines(*t.translator, {fits, longer}, where); }), HasSubstr("target:1: 41 tokens"));
  EXPECT_THROW(score_lines(*t.translator, {sources, fits}, where), ShapeError);
}

// The alignment from the maps of a pass over this pair alone.
std::vector<int64_t> plain_alignment(const RandomTranslator& t, const std::vector<int32_t>& source,
                                     std::vector<int32_t> target) {
  target.insert(target.begin(), t.tokenizer->special().bos.value);
  Pass pass = Pass::infer(*t.backend, DType::f32);
  const SourceSequences sources({source});
  const TargetSequences targets({target});
  AttentionMaps maps;
  const Seq2Seq& model = t.model->seq2seq();
  model.decode(pass, targets, model.encode(pass, sources), {.maps = &maps});
  const float* const last = maps.cross.at(1).data<float>();
  const size_t queries = target.size(), keys = source.size();
  std::vector<int64_t> aligned;
  for (size_t query = 0; query + 1 < queries; ++query) {
    std::vector<float> average(keys - 1, 0.0F);
    for (size_t head = 0; head < 4; ++head) {
      for (size_t key = 0; key + 1 < keys; ++key) {
        average[key] += last[(head * queries + query) * keys + key] / 4.0F;
      }
    }
    aligned.push_back(std::ranges::max_element(average) - average.begin());
  }
  return aligned;
}

TEST(TextTranslation, EachTokenAlignsWithTheOneItAttendsToMost) {
  const RandomTranslator t;
  const std::vector<std::string> lines{"two dogs", "", "ein Hund läuft", "a"};
  const auto translated =
      t.translate(lines, {.beam = 2, .n_best = 2, .max_length = 9, .alignments = Alignments::pieces});
  ASSERT_EQ(translated.size(), 4U);
  ASSERT_EQ(translated[1].size(), 1U);
  EXPECT_TRUE(translated[1][0].translation.alignment.empty());
  for (const size_t i : {size_t{0}, size_t{2}, size_t{3}}) {
    for (const TranslatedLine& line : translated[i]) {
      std::vector<int64_t> aligned;
      for (const AlignedPair& pair : line.translation.alignment) {
        EXPECT_EQ(pair.target, static_cast<int64_t>(aligned.size()));
        aligned.push_back(pair.source);
      }
      EXPECT_EQ(aligned, plain_alignment(t, source_tokens(*t.translator, lines[i]), line.ids));
    }
  }
}

TEST(TextTranslation, AlignmentsOfManyPairsAreThoseOfEach) {
  const RandomTranslator t;
  std::vector<std::vector<int32_t>> sources, targets;
  for (int32_t i = 0; i < 70; ++i) {
    const int32_t source = i / 3;  // of several translations
    sources.push_back({5 + source % 9, 6 + source % 5, 7, 3});
    targets.push_back(std::vector<int32_t>(static_cast<size_t>(i % 6), 5 + i % 11));
  }
  const Inference& model = t.scheduler->inference();
  const auto all = align_pairs(model, {sources, targets});
  ASSERT_EQ(all.size(), 70U);
  for (size_t i = 0; i < 70; i += 9) {
    EXPECT_EQ(all[i], align_pairs(model, {{sources[i]}, {targets[i]}})[0]);
    EXPECT_EQ(all[i].size(), targets[i].size());
  }
  EXPECT_THROW(align_pairs(model, {{{3}}, {{5}}}), ShapeError);
  EXPECT_THROW(align_pairs(model, {sources, {}}), ShapeError);
}

}  // namespace
}  // namespace heed::test
