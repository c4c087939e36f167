#include "checkpoint/stored_shortlist.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/errors.h"
#include "base/system/files.h"
#include "tensor_files/safetensors.h"
#include "test_folder.h"
#include "text/tokenizer_training.h"

namespace heed::test {
namespace {

using testing::HasSubstr;

std::unique_ptr<Tokenizer> characters_of(const std::string& text) {
  bool done = false;
  return train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}},
                         [&](std::string& line) { return !std::exchange(done, true) && (line = text, true); });
}

class StoredShortlist : public testing::Test {
 protected:
  StoredShortlist() { std::filesystem::create_directories(folder_); }
  ~StoredShortlist() override { std::filesystem::remove_all(folder_); }

  // Two targets for each source token.
  ShortlistTable table() const {
    ShortlistTable table{.frequent = {6, 5}, .ends = {}, .targets = {}};
    for (int32_t token = 0; token < source_->vocabulary_size(); ++token) {
      table.targets.push_back(token % static_cast<int32_t>(target_->vocabulary_size()));
      table.targets.push_back((token + 3) % static_cast<int32_t>(target_->vocabulary_size()));
      table.ends.push_back(std::ssize(table.targets));
    }
    return table;
  }
  void save(const ShortlistTable& table) const { save_shortlist(path_, table, {*source_, *target_}); }
  Shortlist load() const { return load_shortlist(path_, {*source_, *target_}); }
  // Without write_file's care, which takes long for a file of which every byte is changed.
  void put(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  static std::string refusal(const auto& call) {
    try {
      call();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  std::string refusal_of(const ShortlistTable& table) const {
    save(table);
    return refusal([&] { load(); });
  }

  std::unique_ptr<Tokenizer> source_ = characters_of("abcdefgh"), target_ = characters_of("uvwxyz");
  std::filesystem::path folder_ = folder_of_test(), path_ = folder_ / "shortlist";
};

TEST_F(StoredShortlist, IsReadAsItWasWritten) {
  save(table());
  const std::string bytes = read_file(path_);
  const Shortlist shortlist = load();
  EXPECT_EQ(shortlist.table().frequent, table().frequent);
  EXPECT_EQ(shortlist.table().ends, table().ends);
  EXPECT_EQ(shortlist.table().targets, table().targets);
  save(shortlist.table());
  EXPECT_EQ(read_file(path_), bytes);
  save({.frequent = {},
        .ends = std::vector<int64_t>(static_cast<size_t>(source_->vocabulary_size()), 0),
        .targets = {}});
  EXPECT_TRUE(load().table().targets.empty());
}

TEST_F(StoredShortlist, RefusesAFileOfWhichAnyByteWasChangedOrIsMissing) {
  save(table());
  const std::string bytes = read_file(path_);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    put(damaged);
    EXPECT_THROW(load(), FormatError) << "byte " << i;
    put(bytes.substr(0, i));
    EXPECT_THROW(load(), FormatError) << i << " bytes";
  }
}

TEST_F(StoredShortlist, RefusesOtherTokenizersByName) {
  save(table());
  const auto other = characters_of("abcdefgx");
  EXPECT_THAT(refusal([&] { load_shortlist(path_, {*other, *target_}); }), HasSubstr("another source tokenizer"));
  EXPECT_THAT(refusal([&] { load_shortlist(path_, {*source_, *other}); }), HasSubstr("another target tokenizer"));
}

// Which kind it is follows from its bytes.
TEST_F(StoredShortlist, OpensThoseOfMarianToo) {
  const TranslationTokenizers both{*source_, *target_};
  const auto list_of_a = [&](const Shortlist& shortlist) {
    const auto token = static_cast<size_t>(source_->find("a")->value);
    const ShortlistTable& table = shortlist.table();
    return std::vector(table.targets.begin() + (token == 0 ? 0 : table.ends[token - 1]),
                       table.targets.begin() + table.ends[token]);
  };
  const auto target = [&](std::string_view piece) { return target_->find(piece)->value; };
  save(table());
  EXPECT_EQ(open_shortlist(path_, {folder_}, both).table().targets, table().targets);
  put("u a 0.25\nv a 0.5\nw a 0.125\n");
  EXPECT_EQ(list_of_a(open_shortlist(path_, {folder_}, both)), (std::vector{target("v"), target("u"), target("w")}));
  // How much of it counts is said where the model names it.
  write_file(folder_ / "m.npz", "");
  write_file(folder_ / "decoder.yml", "models: [m.npz]\nshortlist: [shortlist, 3, 2]\n");
  const Shortlist named = open_shortlist(path_, {folder_}, both);
  EXPECT_EQ(list_of_a(named), (std::vector{target("v"), target("u")}));
  EXPECT_EQ(named.table().frequent, (std::vector{0, 1, 2}));
  put("neither\n");
  EXPECT_THAT(refusal([&] { open_shortlist(path_, {folder_}, both); }), HasSubstr("line 1 has 1 fields, expected 3"));
  EXPECT_THROW(open_shortlist(folder_ / "nothing", {folder_}, both), IoError);
}

// With right checksums.
TEST_F(StoredShortlist, RefusesTablesThatCannotBe) {
  const auto changed = [&](const auto& change) {
    ShortlistTable wrong = table();
    change(wrong);
    return refusal_of(wrong);
  };
  const auto vocabulary = static_cast<int32_t>(target_->vocabulary_size());
  EXPECT_THAT(changed([&](ShortlistTable& t) { t.targets[3] = vocabulary; }), HasSubstr("holds token"));
  EXPECT_THAT(changed([](ShortlistTable& t) { t.targets[3] = -1; }), HasSubstr("holds token -1"));
  EXPECT_THAT(changed([&](ShortlistTable& t) { t.frequent[0] = vocabulary; }), HasSubstr("holds token"));
  EXPECT_THAT(changed([](ShortlistTable& t) { t.ends.pop_back(); }), HasSubstr("has lists for"));
  EXPECT_THAT(changed([](ShortlistTable& t) { t.ends.push_back(t.ends.back()); }), HasSubstr("has lists for"));
  EXPECT_THAT(changed([](ShortlistTable& t) { t.ends[0] = 5; }), HasSubstr("ends at 4 after 5"));
  EXPECT_THAT(changed([](ShortlistTable& t) { t.ends[0] = -1; }), HasSubstr("ends at -1 after 0"));
  EXPECT_THAT(changed([](ShortlistTable& t) { t.ends.back() += 1; }), HasSubstr("a list ends at"));
  EXPECT_THAT(changed([](ShortlistTable& t) { t.ends.back() -= 1; }), HasSubstr("the last list ends at"));
}

// With right checksums: wider numbers would not fit where narrow ones are expected.
TEST_F(StoredShortlist, RefusesTensorsOfOtherTypesAndShapes) {
  const std::vector<int64_t> numbers(4, 0);
  const auto refusal_of_targets = [&](StoredType type, const std::vector<int64_t>& shape) {
    save(table());
    std::vector<TensorSource> tensors;
    const SafeTensors right(path_);
    for (const StoredTensor& tensor : right.tensors()) {
      tensors.push_back(tensor.name == "targets"
                            ? tensor_source("targets", type, shape, std::as_bytes(std::span(numbers)))
                            : tensor_source(tensor.name, tensor.type, tensor.shape, tensor.bytes));
    }
    Metadata metadata = right.metadata();
    metadata.erase("heed_checksum");
    write_checked_safetensors(folder_ / "other", tensors, metadata);
    return refusal([&] { load_shortlist(folder_ / "other", {*source_, *target_}); });
  };
  EXPECT_THAT(refusal_of_targets(StoredType::i64, {4}), HasSubstr("targets I64[4], expected I32 in one row"));
  EXPECT_THAT(refusal_of_targets(StoredType::i32, {2, 4}), HasSubstr("expected I32 in one row"));
}

}  // namespace
}  // namespace heed::test
