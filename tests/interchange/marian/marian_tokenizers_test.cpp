#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "interchange/marian/marian_model.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A folder whose vocabularies are lists of tokens.
class MarianTokenizers : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    write_file(folder_ / "m.npz", "");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Tokenizers read(const std::string& source, const std::string& target, int64_t rows = 6) const {
    write_file(folder_ / "decoder.yml", "models: [m.npz]\nvocabs: [" + source + ", " + target + "]\n");
    ForeignModel model;
    model.config.source_vocabulary = model.config.target_vocabulary = rows;
    return read_marian_tokenizers(folder_, model);
  }
  static std::vector<int32_t> ids(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<int32_t> ids;
    for (const TokenId token : tokenizer.encode(text)) {
      ids.push_back(token.value);
    }
    return ids;
  }
  std::string refusal(const std::string& name) const {
    try {
      read(name, name);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_ = test::folder_of_test();
};

TEST_F(MarianTokenizers, OfListsStandBetweenSpaces) {
  write_file(folder_ / "vocab.yml", "</s>: 0\n<unk>: 1\n\"a@@\": 2\nb: 3\n\",\": 4\n");
  const Tokenizers both = read("vocab.yml", "vocab.yml");
  EXPECT_EQ(both[0], both[1]);
  EXPECT_EQ(both[0]->vocabulary_size(), 6);
  EXPECT_THAT(ids(*both[0], "a@@ b , a b,"), ElementsAre(2, 3, 4, 1, 1));
  EXPECT_EQ(both[0]->decode(std::vector<TokenId>{TokenId(2), TokenId(3), TokenId(4)}), "a@@ b ,");
  EXPECT_EQ(both[0]->special().eos.value, 0);
  EXPECT_EQ(both[0]->special().unk.value, 1);
}

TEST_F(MarianTokenizers, OfTwoListsAreTwo) {
  write_file(folder_ / "s.yml", "</s>: 0\n<unk>: 1\na: 2\n");
  write_file(folder_ / "t.vocab", "eos\nUNK\nx\na\n");
  const Tokenizers both = read("s.yml", "t.vocab");
  EXPECT_THAT(ids(*both[0], "a x"), ElementsAre(2, 1));
  EXPECT_THAT(ids(*both[1], "a x q"), ElementsAre(3, 2, 1));
  EXPECT_EQ(both[1]->special().eos.value, 0);
}

// OPUS-MT's packages: one list for both languages, and a SentencePiece model for each.
TEST_F(MarianTokenizers, OfAListAndSentencePieceModelsHaveTheNumbersOfTheList) {
  const std::filesystem::path golden = test::source_root() / "tests/interchange/golden/encoder_decoders/marian";
  for (const char* const name : {"source.spm", "target.spm", "vocab.json"}) {
    std::filesystem::copy_file(golden / name, folder_ / name);
  }
  const Tokenizers both = read("vocab.json", "vocab.json", 58);
  EXPECT_NE(both[0], both[1]);
  // As texts.json beside them has it.
  EXPECT_THAT(ids(*both[0], "on it"), ElementsAre(5, 38, 5, 10, 7));
  EXPECT_THAT(ids(*both[0], "a sea"), ElementsAre(34, 40, 6, 8));
  EXPECT_EQ(both[1]->decode(both[1]->encode("the end")), "the end");
}

TEST_F(MarianTokenizers, OfListsWithoutTheEndAreRefused) {
  write_file(folder_ / "no_end.yml", "a: 0\n<unk>: 1\n");
  EXPECT_THAT(refusal("no_end.yml"), HasSubstr("no_end.yml: the vocabulary lacks the token '</s>'"));
  write_file(folder_ / "long.yml", "</s>: 0\n<unk>: 1\na: 2\nb: 3\nc: 4\nd: 5\ne: 6\n");
  EXPECT_THAT(refusal("long.yml"), HasSubstr("long.yml"));
}

}  // namespace
}  // namespace heed
