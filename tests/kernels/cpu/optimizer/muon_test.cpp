#include <limits>

#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuMuon : public CpuTest {};

TEST_P(CpuMuon, MatchesTheReference) {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {17, 33}, {130, 257}}) {
    for (const double max_norm : {0.0, 0.5}) {
      SCOPED_TRACE(fmt::format("{} x {}, max norm {}", rows, columns, max_norm));
      MuonCase c = MuonCase::make(types(), rows, columns);
      c.max_norm = max_norm;
      const MuonCase actual = c.cloned(types()), expected = c.cloned(kReferenceTypes);
      actual.run(cpu());
      expected.run(reference());
      EXPECT_TRUE(close(actual.moments, expected.moments, kF32));
      EXPECT_TRUE(close(actual.direction, expected.direction, stored()));
      EXPECT_TRUE(close(actual.weights, expected.weights, stored()));
      EXPECT_TRUE(actual.gradients.untouched());
      EXPECT_TRUE(actual.direction.untouched());
      EXPECT_TRUE(actual.copy.untouched());
    }
  }
}

TEST_P(CpuMuon, ANormThatIsNotFiniteChangesNothing) {
  const MuonCase c = MuonCase::make(types(), 5, 9).cloned(types());
  const MuonCase before = c.cloned(types());
  c.squared_norm.set(0, 0, std::numeric_limits<double>::quiet_NaN());
  c.run(cpu());
  EXPECT_TRUE(same_bits(c.weights, before.weights));
  EXPECT_TRUE(same_bits(c.moments, before.moments));
  EXPECT_EQ(c.direction.get(2, 3), 0.0);
}

TEST_P(CpuMuon, AZeroGradientGivesNoDirection) {
  const MuonCase c = MuonCase::make(types(), 5, 9);
  cpu().fill(c.gradients.view(), 0.0);
  cpu().fill(c.moments.view(), 0.0);
  c.run(cpu());
  EXPECT_EQ(c.direction.get(2, 3), 0.0);
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuMuon);

}  // namespace
}  // namespace heed::test
