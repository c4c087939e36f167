#include "decode/decoder_state.h"

#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"

namespace heed {
namespace {

class State : public testing::Test {
 protected:
  // Writes `value` as the key of the newest token of each sequence.
  void append(const std::vector<float>& values) {
    const KeyValueView view = state_.extend(std::vector<int64_t>(values.size(), 1)).front();
    for (size_t s = 0; s < values.size(); ++s) {
      const auto sequence = static_cast<int64_t>(s);
      const int64_t row = view.row(sequence, view.segments->length(sequence) - 1);
      host<float>(view.keys)(row, 0) = values[s];
    }
  }
  std::vector<float> keys(int64_t sequence) {
    const KeyValueView view = state_.extend(std::vector<int64_t>(state_.lengths().size(), 0)).front();
    std::vector<float> found;
    for (int64_t token = 0; token < view.segments->length(sequence); ++token) {
      found.push_back(host<float>(view.keys)(view.row(sequence, token), 0));
    }
    return found;
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  DecoderState state_{*backend_, DType::f32, {2, 4}};
};

TEST_F(State, ForksShareUntilOneWrites) {
  state_.add(1);
  append({1});
  append({2});
  state_.select({0, 0, 0});
  EXPECT_EQ(state_.pages_in_use(), 1);
  append({3, 4, 5});
  EXPECT_EQ(state_.pages_in_use(), 3);
  EXPECT_EQ(keys(0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(keys(1), (std::vector<float>{1, 2, 4}));
  EXPECT_EQ(keys(2), (std::vector<float>{1, 2, 5}));
}

TEST_F(State, ReordersDropsAndGivesPagesBack) {
  state_.add(3);
  append({1, 2, 3});
  state_.select({2, 0});
  EXPECT_EQ(state_.count(), 2);
  EXPECT_EQ(keys(0), (std::vector<float>{3}));
  EXPECT_EQ(keys(1), (std::vector<float>{1}));
  EXPECT_EQ(state_.pages_in_use(), 2);
  state_.select({});
  EXPECT_EQ(state_.pages_in_use(), 0);
}

TEST_F(State, RollsBack) {
  state_.add(1);
  std::vector<float> expected;
  for (int token = 0; token < 40; ++token) {
    append({static_cast<float>(token)});
  }
  EXPECT_EQ(state_.pages_in_use(), 3);
  state_.roll_back(0, 17);
  EXPECT_EQ(state_.pages_in_use(), 2);
  append({99});
  for (int token = 0; token < 17; ++token) {
    expected.push_back(static_cast<float>(token));
  }
  expected.push_back(99);
  EXPECT_EQ(keys(0), expected);
}

TEST_F(State, GrowsWithItsContent) {
  state_.add(1);
  std::vector<float> expected;
  for (int token = 0; token < 3000; ++token) {
    append({static_cast<float>(token)});
    expected.push_back(static_cast<float>(token));
  }
  EXPECT_EQ(keys(0), expected);
}

TEST_F(State, RefusesWhatIsNotThere) {
  state_.add(1);
  EXPECT_THROW(state_.select({1}), InternalError);
  EXPECT_THROW(state_.roll_back(0, 1), InternalError);
  EXPECT_THROW(state_.extend({1, 1}), InternalError);
}

}  // namespace
}  // namespace heed
