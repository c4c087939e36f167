#include <thread>

#include "tokenizer_testing.h"

namespace heed::test {
namespace {

TEST(TokenizerThreads, OneTokenizerServesSeveralAtOnce) {
  for (const TokenizerKind kind : kAllKinds) {
    const Tokenizer& tokenizer = trained(kind);
    std::vector<std::vector<TokenId>> expected;
    for (const std::string& line : corpus()) {
      expected.push_back(tokenizer.encode(line));
    }
    std::vector<int> wrong(3, 0);
    std::vector<std::thread> threads;
    for (int& count : wrong) {
      threads.emplace_back([&] {
        const std::vector<std::string> lines = corpus();
        for (size_t i = 0; i < lines.size(); ++i) {
          const std::vector<TokenId> tokens = tokenizer.encode(lines[i]);
          count += tokens == expected[i] && !tokenizer.decode(tokens).empty() ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0})) << name_of(kind);
  }
}

}  // namespace
}  // namespace heed::test
