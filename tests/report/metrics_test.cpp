#include "report/run/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/errors.h"

namespace heed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kStart =
    R"({"event":"start","update":0,"time":1700000000,"parameters":12,"precision":"bf16","threads":2,)"
    R"("train_sentences":29000,"validation_sentences":1014})"
    "\n";

std::string train_line(int64_t update, double loss) {
  return fmt::format(
      R"({{"event":"train","update":{},"epoch":0.25,"loss":{},"nll":1.5,"learning_rate":0.0005,"gradient_norm":1.7,)"
      R"("target_tokens_per_second":9000.0,"seconds":{}}})"
      "\n",
      update, loss, update / 10.0);
}

std::string validation_line(int64_t update, double loss, const std::string& more = "") {
  return fmt::format(R"({{"event":"validation","update":{},"loss":{},"seconds":{}{}}})"
                     "\n",
                     update, loss, update / 10.0, more);
}

std::string message_of(const std::string& text) {
  try {
    parse_metrics(text, "metrics.jsonl");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReportMetrics, HoldTheContentOfTheLines) {
  const RunMetrics metrics =
      parse_metrics(kStart + train_line(50, 4.25) + validation_line(100, 2.5, R"(,"bleu":31.2,"best":true)") +
                        R"({"event":"end","update":100,"reason":"epochs","seconds":12.5})" + "\n",
                    "m");
  EXPECT_EQ(metrics.parameters, 12);
  EXPECT_EQ(metrics.threads, 2);
  EXPECT_EQ(metrics.precision, "bf16");
  EXPECT_EQ(metrics.train_sentences, 29000);
  EXPECT_EQ(metrics.validation_sentences, 1014);
  EXPECT_EQ(metrics.started, 1.7e9);
  ASSERT_EQ(metrics.train.size(), 1U);
  EXPECT_EQ(metrics.train[0].update, 50);
  EXPECT_EQ(metrics.train[0].epoch, 0.25);
  EXPECT_EQ(metrics.train[0].loss, 4.25);
  EXPECT_EQ(metrics.train[0].nll, 1.5);
  EXPECT_EQ(metrics.train[0].learning_rate, 0.0005);
  EXPECT_EQ(metrics.train[0].gradient_norm, 1.7);
  EXPECT_EQ(metrics.train[0].target_tokens_per_second, 9000.0);
  EXPECT_EQ(metrics.train[0].seconds, 5.0);
  ASSERT_EQ(metrics.validation.size(), 1U);
  EXPECT_EQ(metrics.validation[0].loss, 2.5);
  EXPECT_EQ(metrics.validation[0].score("bleu"), 31.2);
  EXPECT_TRUE(metrics.validation[0].best);
  EXPECT_EQ(metrics.end_reason, "epochs");
  EXPECT_EQ(metrics.seconds, 12.5);
  EXPECT_EQ(metrics.updates(), 100);
  EXPECT_FALSE(metrics.truncated);
}

TEST(ReportMetrics, HoldTheLabelsOfAClassifier) {
  const RunMetrics metrics = parse_metrics(
      kStart + validation_line(100, 2.5,
                               R"(,"labels":[{"label":"de","expected":3,"predicted":2,"right":2,"predicted_as":[2,1]},)"
                               R"({"label":"en","expected":1,"predicted":2,"right":1,"predicted_as":[0,1]}])"),
      "m");
  ASSERT_EQ(metrics.validation[0].labels.size(), 2U);
  EXPECT_EQ(metrics.validation[0].labels[0].label, "de");
  EXPECT_EQ(metrics.validation[0].labels[0].expected, 3);
  EXPECT_EQ(metrics.validation[0].labels[1].predicted, 2);
  EXPECT_EQ(metrics.validation[0].labels[1].right, 1);
  EXPECT_THAT(metrics.validation[0].labels[0].predicted_as, testing::ElementsAre(2, 1));
  EXPECT_THAT(message_of(validation_line(100, 2.5, R"(,"labels":[{"label":"de","predicted_as":[1,2]}])")),
              HasSubstr("\"predicted_as\" is [1,2], expected 1 counts"));
  EXPECT_THAT(message_of(validation_line(100, 2.5, R"(,"labels":[7])")), HasSubstr("a label is 7, expected an object"));
}

TEST(ReportMetrics, HoldTheScoresOfEveryTask) {
  const RunMetrics metrics =
      parse_metrics(R"({"event":"start","update":0,"train_texts":400})"
                    "\n" +
                        validation_line(100, 2.5, R"(,"accuracy":0.5,"matthews":-0.25,"f1_micro":null,"invented":1)"),
                    "m");
  EXPECT_EQ(metrics.train_texts, 400);
  EXPECT_EQ(metrics.validation[0].score("accuracy"), 0.5);
  EXPECT_EQ(metrics.validation[0].score("matthews"), -0.25);
  EXPECT_TRUE(std::isnan(metrics.validation[0].score("f1_micro")));
  EXPECT_TRUE(std::isnan(metrics.validation[0].score("invented")));
  EXPECT_THAT(message_of(validation_line(100, 2.5, R"(,"spearman":"high")")),
              HasSubstr("\"spearman\" is \"high\", expected a number"));
}

TEST(ReportMetrics, OfAnUnfinishedRunHaveNoEnd) {
  const RunMetrics metrics = parse_metrics(kStart + train_line(50, 4.0), "m");
  EXPECT_THAT(metrics.end_reason, IsEmpty());
  EXPECT_EQ(metrics.seconds, 5.0);
  EXPECT_EQ(metrics.best(), nullptr);
}

TEST(ReportMetrics, MissingAndNonFiniteValuesAreNaN) {
  const RunMetrics metrics =
      parse_metrics(validation_line(1, 2.0) + R"({"event":"train","update":2,"loss":null})" + "\n", "m");
  EXPECT_TRUE(std::isnan(metrics.validation[0].score("bleu")));
  EXPECT_FALSE(metrics.validation[0].best);
  EXPECT_TRUE(std::isnan(metrics.train[0].loss));
  EXPECT_TRUE(std::isnan(metrics.train[0].seconds));
  EXPECT_EQ(metrics.seconds, 0.1);
}

TEST(ReportMetrics, UnknownEventsAndKeysAndBlankLinesAreSkipped) {
  const RunMetrics metrics = parse_metrics("\n" + std::string(kStart) + R"({"event":"moon","phase":[1]})" + "\n \r\n" +
                                               validation_line(1, 2.0, R"(,"mood":"good")"),
                                           "m");
  EXPECT_EQ(metrics.validation.size(), 1U);
}

TEST(ReportMetrics, AResumeDropsWhatTheRunDidAfterThatUpdate) {
  const std::string resumed = R"({"event":"start","update":100,"time":1700009999,"parameters":12})";
  const RunMetrics metrics =
      parse_metrics(kStart + train_line(50, 4.0) + train_line(100, 3.0) + train_line(150, 9.0) +
                        validation_line(100, 2.0) + validation_line(150, 9.0) + resumed + "\n" + train_line(150, 2.5),
                    "m");
  ASSERT_EQ(metrics.train.size(), 3U);
  EXPECT_EQ(metrics.train[1].update, 100);
  EXPECT_EQ(metrics.train[2].loss, 2.5);
  EXPECT_EQ(metrics.validation.size(), 1U);
  EXPECT_EQ(metrics.resumes, std::vector<int64_t>{100});
  EXPECT_EQ(metrics.started, 1.7e9);
}

TEST(ReportMetrics, AResumeAfterTheEndContinuesTheRun) {
  const RunMetrics metrics =
      parse_metrics(kStart + train_line(50, 4.0) + R"({"event":"end","update":50,"reason":"updates","seconds":5})" +
                        "\n" + R"({"event":"start","update":50})" + "\n",
                    "m");
  EXPECT_THAT(metrics.end_reason, IsEmpty());
  EXPECT_EQ(metrics.updates(), 50);
}

TEST(ReportMetrics, AFreshStartDropsEverythingBeforeIt) {
  const RunMetrics metrics = parse_metrics(kStart + train_line(50, 4.0) + kStart, "m");
  EXPECT_THAT(metrics.train, IsEmpty());
}

TEST(ReportMetrics, ALastLineThatIsCutOffIsIgnoredAndReported) {
  const std::string whole = kStart + train_line(50, 4.0), line = train_line(100, 3.0);
  for (size_t cut = 1; cut + 2 < line.size(); ++cut) {
    const RunMetrics metrics = parse_metrics(whole + line.substr(0, cut), "m");
    EXPECT_TRUE(metrics.truncated) << cut;
    EXPECT_EQ(metrics.train.size(), 1U) << cut;
  }
  const RunMetrics unended = parse_metrics(whole + line.substr(0, line.size() - 1), "m");
  EXPECT_FALSE(unended.truncated);
  EXPECT_EQ(unended.train.size(), 2U);
}

TEST(ReportMetrics, OtherwiseMalformedLinesAreNamed) {
  EXPECT_THAT(message_of(std::string(kStart) + "{\"event\":\n"), StartsWith("metrics.jsonl:2: is not a JSON object"));
  EXPECT_THAT(message_of("[1]\n"), HasSubstr("metrics.jsonl:1: is not a JSON object"));
  EXPECT_THAT(message_of("{\"event\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}\n"),
              HasSubstr("metrics.jsonl:1: byte 72: nested deeper than 64 levels"));
  EXPECT_THAT(message_of("\n{\"update\":1}\n"), StartsWith("metrics.jsonl:2: has no \"event\""));
  EXPECT_THAT(message_of("{\"event\":7}\n"), HasSubstr("\"event\" is 7, expected a text"));
  EXPECT_THAT(message_of("{\"event\":\"train\"}\n"), HasSubstr("has no \"update\""));
  EXPECT_THAT(message_of("{\"event\":\"train\",\"update\":-1}\n"), HasSubstr("expected a count"));
  EXPECT_THAT(message_of("{\"event\":\"train\",\"update\":1.5}\n"), HasSubstr("expected a count"));
  EXPECT_THAT(message_of("{\"event\":\"train\",\"update\":1e300}\n"), HasSubstr("expected a count"));
  EXPECT_THAT(message_of("{\"event\":\"train\",\"update\":1,\"loss\":\"low\"}\n"),
              HasSubstr("\"loss\" is \"low\", expected a number"));
  EXPECT_THAT(message_of("{\"event\":\"validation\",\"update\":1,\"best\":1}\n"), HasSubstr("expected true or false"));
  EXPECT_THAT(message_of("{\"event\":\"start\",\"update\":0,\"precision\":1}\n"), HasSubstr("expected a text"));
}

TEST(ReportMetrics, TheBestIsTheLastMarkedOneOrElseTheOneWithTheLowestLoss) {
  const RunMetrics marked = parse_metrics(
      validation_line(1, 3.0, R"(,"best":true)") + validation_line(2, 2.5, R"(,"best":true)") + validation_line(3, 2.0),
      "m");
  EXPECT_EQ(marked.best()->update, 2);
  const RunMetrics unmarked = parse_metrics(validation_line(1, 3.0) + validation_line(2, 2.0), "m");
  EXPECT_EQ(unmarked.best()->update, 2);
}

TEST(ReportMetrics, ThinningTakesMeansOfNeighboursAndLeavesFewPointsAlone) {
  std::vector<TrainPoint> points;
  for (int64_t i = 1; i <= 10; ++i) {
    const auto x = static_cast<double>(i);
    points.push_back({.update = i,
                      .epoch = x,
                      .loss = x,
                      .nll = 2 * x,
                      .learning_rate = x,
                      .gradient_norm = x,
                      .target_tokens_per_second = x,
                      .seconds = x});
  }
  EXPECT_EQ(thinned(points, 10).size(), 10U);
  const std::vector<TrainPoint> few = thinned(points, 4);
  ASSERT_EQ(few.size(), 4U);
  EXPECT_EQ(few[0].update, 3);
  EXPECT_EQ(few[0].loss, 2.0);
  EXPECT_EQ(few[0].nll, 4.0);
  EXPECT_EQ(few[0].learning_rate, 3.0);
  EXPECT_EQ(few[3].update, 10);
  EXPECT_EQ(few[3].loss, 10.0);
}

}  // namespace
}  // namespace heed
