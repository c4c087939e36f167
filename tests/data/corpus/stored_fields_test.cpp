#include "data/corpus/stored_fields.h"

#include <gmock/gmock.h>

#include <numeric>

#include "data/corpus/corpus.h"
#include "data/corpus/text_corpus.h"
#include "data/data_testing.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Fields as a reader of files would find them. Keeps the bytes, which a test may damage.
class PartsInMemory {
 public:
  explicit PartsInMemory(const FieldsToStore& written) : fields("there") {
    for (const FieldsToStore::Array& array : written.arrays()) {
      put(array.name, array.type, array.bytes, block_checksums(array.bytes));
    }
    for (const auto& [name, number] : written.numbers()) {
      fields.put_number(name, number);
    }
    for (const auto& [name, text] : written.texts()) {
      fields.put_text(name, text);
    }
  }

  void put(const std::string& name, FieldType type, std::span<const std::byte> bytes, std::vector<uint64_t> checksums) {
    // In words, which aligns them.
    const auto copy = std::make_shared<std::vector<uint64_t>>(bytes.size() / sizeof(uint64_t) + 1);
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(*copy)).begin());
    memory[name] = std::as_writable_bytes(std::span(*copy)).first(bytes.size());
    fields.put(name,
               {type, std::make_shared<CheckedBytes>(memory[name], std::move(checksums), copy, "there: " + name)});
  }
  // Other values in the place of an array, with the right checksums.
  template <class T>
  void replace(const std::string& name, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    put(name, field_type_of<T>(), bytes, block_checksums(bytes));
  }

  std::map<std::string, std::span<std::byte>> memory;
  StoredFields fields;
};

template <class T>
std::vector<T> numbers_up_to(int64_t count) {
  std::vector<T> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), T{1});
  return numbers;
}

class Stored : public InFolder {};

TEST_F(Stored, GivesBackWhatWasPutIn) {
  FieldsToStore written;
  written.add("words", std::vector<uint16_t>{7, 0, 65535});
  written.add("numbers", std::vector<double>{0.5, -1.0});
  written.add("none", std::vector<int64_t>{});
  written.add_texts("texts", std::vector<std::string>{"", "zwei", std::string("\0\xff", 2)});
  written.add_number("count", -3);
  written.add_text("place", "a:1");
  const PartsInMemory found(written);
  EXPECT_THAT(found.fields.array<uint16_t>("words").slice(0, 3), ElementsAre(7, 0, 65535));
  EXPECT_EQ(found.fields.array<double>("numbers")[1], -1.0);
  EXPECT_EQ(found.fields.array<int64_t>("none").size(), 0);
  EXPECT_THAT(found.fields.texts_of("texts"), ElementsAre("", "zwei", std::string("\0\xff", 2)));
  EXPECT_EQ(found.fields.number("count"), -3);
  EXPECT_EQ(found.fields.text("place"), "a:1");
}

TEST_F(Stored, NamesWhatIsMissingOrOfAnotherType) {
  FieldsToStore written;
  written.add("words", std::vector<uint16_t>{7});
  written.add_number("count", -3);
  const PartsInMemory found(written);
  const StoredFields& fields = found.fields;
  EXPECT_EQ(message_of<FormatError>([&] { fields.array<int64_t>("more"); }), "there: has no array 'more'");
  EXPECT_THAT(message_of<FormatError>([&] { fields.array<int64_t>("words"); }), HasSubstr("'words' has another type"));
  EXPECT_EQ(message_of<FormatError>([&] { fields.number("more"); }), "there: has no number 'more'");
  EXPECT_EQ(message_of<FormatError>([&] { fields.text("more"); }), "there: has no text 'more'");
}

TEST_F(Stored, CountsAreNotNegativeAndSmallEnoughToBeAdded) {
  FieldsToStore written;
  written.add_number("negative", -3);
  written.add_number("most", StoredFields::kMostCounted);
  written.add_number("more", StoredFields::kMostCounted + 1);
  const PartsInMemory found(written);
  EXPECT_EQ(found.fields.count("most", 0), StoredFields::kMostCounted);
  EXPECT_THAT(message_of<FormatError>([&] { found.fields.count("negative", 0); }), HasSubstr("'negative' is -3"));
  EXPECT_THAT(message_of<FormatError>([&] { found.fields.count("more", 0); }), HasSubstr("expected 0 to"));
}

TEST_F(Stored, DamageIsNoticedInTheBlockThatIsReadAndOnlyThere) {
  constexpr int64_t kBlockValues = static_cast<int64_t>(CheckedBytes::kBlock / sizeof(int64_t));
  FieldsToStore written;
  written.add("numbers", numbers_up_to<int64_t>(3 * kBlockValues + 5));
  PartsInMemory found(written);
  found.memory["numbers"][CheckedBytes::kBlock + 100] ^= std::byte{1};
  const SpillArray<int64_t> numbers = found.fields.array<int64_t>("numbers");
  EXPECT_EQ(numbers[kBlockValues - 1], kBlockValues);
  EXPECT_EQ(numbers[2 * kBlockValues], 2 * kBlockValues + 1);
  EXPECT_EQ(numbers[3 * kBlockValues + 4], 3 * kBlockValues + 5);
  for (const int64_t at : {kBlockValues, 2 * kBlockValues - 1}) {
    EXPECT_THAT(message_of<FormatError>([&] { static_cast<void>(numbers[at]); }),
                HasSubstr("there: numbers: bytes 65536 to 131072 have another checksum"));
  }
  EXPECT_NE(message_of<FormatError>([&] { numbers.slice(0, 3 * kBlockValues); }), "");
}

TEST_F(Stored, EachBlockNeedsAChecksum) {
  PartsInMemory found{FieldsToStore()};
  const std::vector<std::byte> bytes(CheckedBytes::kBlock + 1);
  EXPECT_THAT(message_of<FormatError>([&] { found.put("a", FieldType::u8, bytes, {1}); }),
              HasSubstr("1 checksums for 2 blocks"));
}

TEST_F(Stored, ValuesBeyondTheirLimitAreRefusedWhenTheyAreRead) {
  FieldsToStore written;
  written.add("tokens", std::vector<int32_t>{0, 9, 5});
  written.add("negative", std::vector<int32_t>{0, -1});
  const PartsInMemory found(written);
  EXPECT_EQ(found.fields.array_below<int32_t>("tokens", 10)[1], 9);
  const SpillArray<int32_t> negative = found.fields.array_below<int32_t>("negative", 9);
  EXPECT_THAT(message_of<FormatError>([&] { static_cast<void>(negative[0]); }), HasSubstr("holds -1, expected 0 to 8"));
  PartsInMemory again(written);
  const SpillArray<int32_t> tokens = again.fields.array_below<int32_t>("tokens", 9);
  EXPECT_THAT(message_of<FormatError>([&] { static_cast<void>(tokens[0]); }), HasSubstr("holds 9, expected 0 to 8"));
}

TEST_F(Stored, EndsRiseUpToTheTotal) {
  using Sequences = StoredFields::Sequences;
  const auto problem = [](const std::vector<int64_t>& ends, int64_t total, Sequences sequences) {
    PartsInMemory found{FieldsToStore()};
    found.replace("ends", ends);
    return message_of<FormatError>([&] {
      const SpillArray<int64_t> read = found.fields.ends("ends", total, sequences);
      for (int64_t i = 0; i < read.size(); ++i) {
        static_cast<void>(read[i]);
      }
    });
  };
  EXPECT_EQ(problem({1, 4, 9}, 9, Sequences::filled), "");
  EXPECT_EQ(problem({}, 0, Sequences::filled), "");
  EXPECT_EQ(problem({0, 4, 4}, 4, Sequences::maybe_empty), "");
  EXPECT_NE(problem({}, 1, Sequences::filled), "");
  EXPECT_NE(problem({1, 4, 9}, 10, Sequences::filled), "");
  EXPECT_NE(problem({1, 4, 4}, 4, Sequences::filled), "");
  EXPECT_NE(problem({0, 4}, 4, Sequences::filled), "");
  EXPECT_NE(problem({5, 4, 9}, 9, Sequences::maybe_empty), "");
  EXPECT_NE(problem({12, 9}, 9, Sequences::maybe_empty), "");
  EXPECT_NE(problem({-1, 9}, 9, Sequences::maybe_empty), "");
  EXPECT_NE(problem({INT64_MAX, INT64_MIN, 9}, 9, Sequences::maybe_empty), "");
  // Across blocks.
  std::vector<int64_t> many = numbers_up_to<int64_t>(20'000);
  EXPECT_EQ(problem(many, 20'000, Sequences::filled), "");
  many[8191] = 9000;
  EXPECT_NE(problem(many, 20'000, Sequences::filled), "");
}

CorpusSide numbers_side(std::filesystem::path file) {
  return {.files = {std::move(file)}, .encode = encode_words, .vocabulary = 1000, .max_length = 4};
}

TEST_F(Stored, ACorpusIsTheSameAsTheOneThatWasRead) {
  const std::vector<CorpusSide> sides{numbers_side(put("a", "1 2\n\n3\n4 5 6 7 8\n9\n")),
                                      numbers_side(put("b", "10\n11\n12 13 14\n15\n16\n"))};
  ThreadPool pool(1);
  const Corpus corpus = read_corpus(sides, {}, pool);
  FieldsToStore written;
  corpus.store(written);
  PartsInMemory found(written);
  const Corpus again = Corpus::stored(found.fields, sides);
  ASSERT_EQ(again.size(), 3);
  EXPECT_EQ(again.report().text(), corpus.report().text());
  EXPECT_EQ(again.fingerprint(), corpus.fingerprint());
  for (int64_t s = 0; s < 3; ++s) {
    EXPECT_EQ(again.where(s), corpus.where(s));
    std::vector<int32_t> ids, same;
    corpus.target().read(s, ids);
    again.target().read(s, same);
    EXPECT_EQ(ids, same);
  }
  found.replace<int64_t>("lines", {1, 3});
  EXPECT_THAT(message_of<FormatError>([&] { Corpus::stored(found.fields, sides); }), HasSubstr("3 sentences"));
  found.replace<int64_t>("lines", {1, 3, 5});
  for (const std::vector<int64_t>& first : {std::vector<int64_t>{}, {1}, {0, 1}}) {
    found.replace("first_sentences", first);
    EXPECT_THAT(message_of<FormatError>([&] { Corpus::stored(found.fields, sides); }), HasSubstr("first sentences"));
  }
}

TEST_F(Stored, AMarkThatIsDamagedIsRefusedWhenItNamesALine) {
  const TextRules rules{.files = {put("text", "ab\ncd\n")}, .documents = Documents::none};
  const auto tokenizer =
      train_tokenizer({.kind = TokenizerKind::byte, .user_symbols = {}}, [](std::string&) { return false; });
  ThreadPool pool(1);
  const TextCorpus corpus = read_text_corpus(rules, *tokenizer, pool);
  FieldsToStore written;
  corpus.store(written, "train");
  PartsInMemory found(written);
  const TextCorpus again = TextCorpus::stored(found.fields, "train", rules, *tokenizer);
  EXPECT_EQ(again.where(4), corpus.where(4));
  EXPECT_EQ(again.size().bytes, 6);
  for (const std::vector<int64_t>& mark :
       {std::vector<int64_t>{0, 1, 7}, {5, 1, 0}, {-1, 1, 0}, {0, -1, 0}, {0, INT64_MAX, 0}}) {
    found.replace("train.marks", mark);
    const TextCorpus damaged = TextCorpus::stored(found.fields, "train", rules, *tokenizer);
    EXPECT_THAT(message_of<FormatError>([&] { static_cast<void>(damaged.where(4)); }), HasSubstr("is damaged"));
  }
}

}  // namespace
}  // namespace heed
