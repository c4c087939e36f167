#include "propose/labeled_figures.h"

#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "test_folder.h"

namespace heed {
namespace {

class LabeledFigures : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::folder_of_test();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  LabeledFile read(ProposedTask task, const std::string& text) const {
    write_file(folder_ / "text", text);
    return read_labeled_file(task, {(folder_ / "text").string()});
  }

  std::filesystem::path folder_;
};

TEST_F(LabeledFigures, ColumnsTellTextsFromPairs) {
  const LabeledFile one = read(ProposedTask::classify, "a b\tx\nc\ty\n");
  EXPECT_EQ(one.columns, TextColumns::one);
  EXPECT_EQ(texts_of(one), (Lines{"a b", "c"}));
  const LabeledFile pair = read(ProposedTask::classify, "a b\tc\tx\n");
  EXPECT_EQ(pair.columns, TextColumns::pair);
  EXPECT_EQ(texts_of(pair), (Lines{"a b", "c"}));
  EXPECT_THROW(read(ProposedTask::classify, "a b\tx\nno label\n"), FormatError);
  EXPECT_THROW(read(ProposedTask::classify, "\n"), FormatError);
}

TEST_F(LabeledFigures, WordsStandOneInALineOrASentenceDoes) {
  const LabeledFile columns = read(ProposedTask::tag, "the\tD\ndog\tN\n\nruns\tV\n");
  EXPECT_EQ(columns.format, WordFormat::columns);
  EXPECT_EQ(texts_of(columns), (Lines{"the dog", "runs"}));
  const LabeledFile lines = read(ProposedTask::tag, "the dog\tD N\nruns\tV\n");
  EXPECT_EQ(lines.format, WordFormat::lines);
  EXPECT_EQ(lines.examples.front().labels, (std::vector<std::string>{"D", "N"}));
  EXPECT_EQ(count_labels(lines), count_labels(columns));
}

TEST_F(LabeledFigures, LabelsTellTheHead) {
  const auto head = [&](const std::string& text) { return head_for(read(ProposedTask::classify, text)); };
  EXPECT_EQ(head("a\tx\nb\ty\n"), Head::one_label);
  EXPECT_EQ(head("a\t1\nb\t0\n"), Head::one_label) << "numbers without a point are names";
  EXPECT_EQ(head("a\t1.5\nb\t0\n"), Head::number);
  EXPECT_EQ(head("a\tx,y\nb\ty\n"), Head::several_labels);
}

TEST_F(LabeledFigures, WhatIsKeptLeavesEachLabelInTheTrainingText) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += std::to_string(i) + (i < 98 ? "\tmany\n" : "\t" + std::to_string(i) + "\n");
  }
  const DividedExamples divided = divide(read(ProposedTask::classify, text), 30);
  EXPECT_EQ(divided.validation.examples.size(), 30U);
  EXPECT_EQ(divided.train.examples.size(), 70U);
  EXPECT_EQ(count_labels(divided.train).size(), 3U);
  EXPECT_EQ(count_labels(divided.validation).size(), 1U);
}

TEST_F(LabeledFigures, FilesThatAlternateAreNotKeptInStep) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += std::to_string(i) + (i % 2 == 0 ? "\teven\n" : "\todd\n");
  }
  EXPECT_EQ(count_labels(divide(read(ProposedTask::classify, text), 10).validation).size(), 2U);
}

TEST_F(LabeledFigures, WhatIsWrittenReadsAsBefore) {
  for (const auto& [task, text] :
       std::vector<std::pair<ProposedTask, std::string>>{{ProposedTask::classify, "a b\tx\nc\ty\n"},
                                                         {ProposedTask::classify, "a b\tc\tx\n"},
                                                         {ProposedTask::tag, "the\tD\ndog\tN\n\nruns\tV\n\n"},
                                                         {ProposedTask::tag, "the dog\tD N\nruns\tV\n"}}) {
    EXPECT_EQ(stored_text(read(task, text)), text);
  }
}

}  // namespace
}  // namespace heed
