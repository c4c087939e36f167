// Texts of numbers to learn shortlists from.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/corpus/lexical_table.h"
#include "data/data_testing.h"

namespace heed {

class LexicalTable : public InFolder {
 protected:
  ShortlistTable learn(const std::string& source, const std::string& target, const LexicalRules& rules,
                       int threads = 1) const {
    ThreadPool pool(threads);
    const auto side = [](const std::filesystem::path& file) {
      return CorpusSide{.files = {file}, .encode = encode_words, .vocabulary = 3000};
    };
    return learn_shortlist(read_corpus({side(put("s", source)), side(put_gzip("t.gz", target))}, {}, pool), rules,
                           pool);
  }

  static std::vector<int32_t> targets_of(const ShortlistTable& table, size_t token) {
    const int64_t begin = token == 0 ? 0 : table.ends[token - 1];
    return {table.targets.begin() + begin, table.targets.begin() + table.ends[token]};
  }
};

// Words 1 to 40 become 501 to 540, in another order, beside a word 900 that comes from nothing.
struct ToyText {
  std::string source, target;

  explicit ToyText(int lines = 300) {
    uint64_t draws = 0;
    for (int line = 0; line < lines; ++line) {
      std::vector<int> words;
      for (int i = 0; i < 5; ++i) {
        words.push_back(1 + static_cast<int>(uniform_draw(RandomKey{7}, draws++) * 40.0));
      }
      for (const int word : words) {
        source += fmt::format("{} ", word);
      }
      std::ranges::reverse(words);
      std::rotate(words.begin(), words.begin() + line % 5, words.end());
      target += "900 ";
      for (const int word : words) {
        target += fmt::format("{} ", 500 + word);
      }
      source += "\n";
      target += "\n";
    }
  }
};

}  // namespace heed
