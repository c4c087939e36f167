// A published CTranslate2 model computes what CTranslate2 computes: its tests say that it makes "atzmon" of Arabic
// letters, with a log-probability of -1.06175.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "checkpoint/weights.h"
#include "interchange/foreign_source.h"
#include "kernels/reference/reference_backend.h"
#include "models/any_model.h"
#include "source_root.h"

namespace heed {
namespace {

std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  for (const TokenId token : tokenizer.encode(text)) {
    ids.push_back(token.value);
  }
  return ids;
}

Sequences one_sequence(const std::vector<int32_t>& ids) {
  return {ids, Segments(std::vector<int64_t>{std::ssize(ids)})};
}

TEST(CTranslate2Published, TheTransliterationHasThePublishedProbability) {
  const char* const set = std::getenv("HEED_DATA");
  const std::filesystem::path data =
      set != nullptr ? std::filesystem::path(set) : test::source_root() / "../shared/data";
  const std::filesystem::path folder = data / "ct2-transliteration";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "there is no " << folder;
  }
  ASSERT_TRUE(is_foreign_model(folder));
  const ForeignModel found = read_foreign_model(folder);
  const Tokenizers tokenizers = read_foreign_tokenizers(folder, found);
  const auto backend = make_reference_backend();
  Weights weights;
  const AnyModel model{Scope(weights), found.config};
  load_weights(open_foreign_weights(found), *backend, DType::f64, weights);
  const std::vector<int32_t> source = ids_of(*tokenizers[0], "آ ت ز م و ن");
  ASSERT_EQ(source.size(), 6U);
  EXPECT_FALSE(tokenizers[0]->frame(1).empty());  // says that no end follows the source
  std::vector<int32_t> target = found.marks.target_start;
  const std::vector<int32_t> written = ids_of(*tokenizers[1], "a t z m o n");
  ASSERT_EQ(written.size(), 6U);
  target.insert(target.end(), written.begin(), written.end());

  Pass pass = Pass::infer(*backend, DType::f64);
  const Seq2Seq& seq2seq = model.seq2seq();
  const SourceSequences sources(one_sequence(source));
  const Memory memory = seq2seq.encode(pass, sources, {});
  const Hidden hidden = seq2seq.decode(pass, TargetSequences(one_sequence(target)), memory, {});
  const ConstView logits = seq2seq.logits(pass, hidden).var().value();
  const auto all = host<double>(logits);
  std::vector<int32_t> expected = written;
  expected.push_back(tokenizers[1]->special().eos.value);
  double sum = 0.0;
  for (int64_t row = 0; row < logits.rows(); ++row) {
    double exponentials = 0.0;
    for (int64_t token = 0; token < logits.columns(); ++token) {
      exponentials += std::exp(all(row, token));
    }
    sum += all(row, expected[static_cast<size_t>(row)]) - std::log(exponentials);
  }
  EXPECT_NEAR(sum, -1.06175, 1e-4);
}

}  // namespace
}  // namespace heed
