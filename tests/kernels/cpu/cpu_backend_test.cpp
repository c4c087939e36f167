#include <set>

#include "kernels/cpu/cpu_testing.h"
#include "kernels/cpu/product/product_kernels.h"

namespace heed::test {
namespace {

class CpuBackendFacts : public CpuTest {};

TEST_P(CpuBackendFacts, DescribesItself) {
  EXPECT_EQ(cpu().name(), "cpu");
  EXPECT_EQ(cpu().device(), Device::cpu);
  EXPECT_EQ(cpu().master_type(), DType::f32);
  EXPECT_TRUE(cpu().supports(DType::f32));
  EXPECT_TRUE(cpu().supports(DType::bf16));
  EXPECT_FALSE(cpu().supports(DType::f64));
  EXPECT_EQ(cpu().threads(), 2);
  EXPECT_THROW(make_cpu_backend(0), ConfigError);
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuBackendFacts);

TEST(CpuInstructionSets, EachRunsItsOwnKernels) {
  // All suites here rely on this: the columns of a product's panels follow from the set's vectors.
  std::set<int64_t> widths;
  for (const int64_t set : instruction_sets()) {
    use_instruction_set(set);
    widths.insert(cpu::product_kernels().panel_columns);
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(widths.size(), instruction_sets().size());
}

}  // namespace
}  // namespace heed::test
