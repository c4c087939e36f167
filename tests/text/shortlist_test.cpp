#include "text/shortlist.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "text/tokenizer_training.h"

namespace heed {
namespace {

using testing::ElementsAre;

std::unique_ptr<Tokenizer> tokenizer_of(TokenizerKind kind, const std::string& text) {
  bool done = false;
  return train_tokenizer({.kind = kind, .user_symbols = {}},
                         [&](std::string& line) { return !std::exchange(done, true) && (line = text, true); });
}

ShortlistTable table_of(const Tokenizer& source, const std::vector<int32_t>& of_token_six) {
  ShortlistTable table{.frequent = {9}, .ends = std::vector<int64_t>(6, 0), .targets = of_token_six};
  table.ends.resize(static_cast<size_t>(source.vocabulary_size()), std::ssize(of_token_six));
  return table;
}

TEST(Shortlist, CandidatesAreTheTargetsOfTheSourceTokensAndWhatAnySentenceNeeds) {
  const auto source = tokenizer_of(TokenizerKind::character, "abcdefgh");
  const auto target = tokenizer_of(TokenizerKind::character, "qrstuvwxyz");
  const Shortlist shortlist(table_of(*source, {11, 7}), {*source, *target}, "test");
  const int32_t unk = target->special().unk.value, eos = target->special().eos.value;
  EXPECT_THAT(shortlist.candidates(std::vector<int32_t>{5, 7}, {}), ElementsAre(unk, eos, 9));
  EXPECT_THAT(shortlist.candidates(std::vector<int32_t>{5, 6, 6}, {}), ElementsAre(unk, eos, 7, 9, 11));
  EXPECT_THAT(shortlist.candidates(std::vector<int32_t>{5}, std::vector<int32_t>{8, 9}), ElementsAre(unk, eos, 8, 9));
}

TEST(Shortlist, TheFirstTokenHasTargetsToo) {
  const auto source = tokenizer_of(TokenizerKind::character, "abcdefgh");
  const auto target = tokenizer_of(TokenizerKind::character, "qrstuvwxyz");
  const ShortlistTable table{
      .frequent = {}, .ends = std::vector<int64_t>(static_cast<size_t>(source->vocabulary_size()), 1), .targets = {8}};
  const int32_t unk = target->special().unk.value, eos = target->special().eos.value;
  EXPECT_THAT(Shortlist(table, {*source, *target}, "test").candidates(std::vector<int32_t>{0}, {}),
              ElementsAre(unk, eos, 8));
}

TEST(Shortlist, ASharedTokenizerLetsSourceTokensBeCopied) {
  const auto shared = tokenizer_of(TokenizerKind::character, "qrstuvwxyz");
  const Shortlist shortlist(table_of(*shared, {11}), {*shared, *shared}, "test");
  const int32_t unk = shared->special().unk.value, eos = shared->special().eos.value;
  EXPECT_THAT(shortlist.candidates(std::vector<int32_t>{6, 8}, {}), ElementsAre(unk, eos, 6, 8, 9, 11));
}

TEST(Shortlist, BytesAreAlwaysThereWhereTheTokenizerHasThem) {
  const auto bytes = tokenizer_of(TokenizerKind::byte, "abc");
  const auto source = tokenizer_of(TokenizerKind::character, "abcdefgh");
  const Shortlist shortlist(table_of(*source, {}), {*source, *bytes}, "test");
  const std::vector<int32_t> candidates = shortlist.candidates(std::vector<int32_t>{6}, {});
  for (int byte = 0; byte < 256; ++byte) {
    const std::optional<TokenId> token = bytes->find(fmt::format("<0x{:02X}>", byte));
    ASSERT_TRUE(token) << byte;
    EXPECT_TRUE(std::ranges::binary_search(candidates, token->value)) << byte;
  }
}

}  // namespace
}  // namespace heed
