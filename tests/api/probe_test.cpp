#include <gtest/gtest.h>

#include "heed/inspect.h"

namespace heed::test {
namespace {

Probe sound() {
  return {.attention = {{.name = "attention", .minimum_sum = 1.0, .maximum_sum = 1.0}},
          .changes = {{.stream = "text", .position = 1, .stack = "decoder", .length = 3, .changed = {1, 2}}}};
}

TEST(Probe, IsSoundWhenRowsSumToOneAndNothingLeaks) { EXPECT_TRUE(sound().is_sound()); }

TEST(Probe, IsNotSoundWithALeak) {
  Probe probe = sound();
  probe.changes.front().leaks = {0};
  EXPECT_FALSE(probe.is_sound());
  probe = sound();
  probe.changes.front().other_sequences = 1;
  EXPECT_FALSE(probe.is_sound());
}

TEST(Probe, IsNotSoundWithAttentionOnHiddenKeysOrSumsOtherThanOne) {
  Probe probe = sound();
  probe.attention.front().on_hidden_keys = 1e-9;
  EXPECT_FALSE(probe.is_sound());
  probe = sound();
  probe.attention.front().minimum_sum = 0.99;
  EXPECT_FALSE(probe.is_sound());
}

TEST(Probe, IsSoundWhenAPositionThatCouldChangeDidNot) {
  Probe probe = sound();
  probe.changes.front().unchanged = {2};
  EXPECT_TRUE(probe.is_sound());
}

}  // namespace
}  // namespace heed::test
