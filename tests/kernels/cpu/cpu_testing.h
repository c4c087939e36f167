// Helpers for the tests of the CPU backend: every instruction set of this machine, both storage types.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/attention_case.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/machine/instruction_sets.h"
#include "kernels/op_cases.h"
#include "kernels/reference/reference_backend.h"

namespace heed::test {

// Around the widths of vectors (4, 8 and 16 floats) and of two and four of them.
inline constexpr int64_t kColumns[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257};
inline constexpr int64_t kRows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 64, 100};
// Around 512, the depth of one pass of a product.
inline constexpr int64_t kDepths[] = {1, 3, 511, 512, 513, 1100};

inline constexpr Activation kActivations[] = {Activation::none,      Activation::relu, Activation::gelu,
                                              Activation::gelu_tanh, Activation::silu, Activation::tanh};

struct Setting {
  int64_t instruction_set;  // Highway's bit
  DType storage;
  cpu::Bf16Products products = cpu::Bf16Products::widened;
  cpu::AvxVnni avx_vnni = cpu::AvxVnni::forbidden;
};

// Lets the kernels use one instruction set and those below it, as on a machine that has no better one.
inline void use_instruction_set(int64_t target) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(target - 1));
}

class CpuTest : public ::testing::TestWithParam<Setting> {
 protected:
  CpuTest() {
    use_instruction_set(GetParam().instruction_set);
    cpu::allow_avx_vnni(GetParam().avx_vnni);
    backend_ = make(2);
  }
  ~CpuTest() override {
    hwy::SetSupportedTargetsForTest(0);
    cpu::allow_avx_vnni(cpu::AvxVnni::allowed);
  }

  static std::unique_ptr<Backend> make(int threads) { return make_cpu_backend(threads, GetParam().products); }
  DType storage() const { return GetParam().storage; }
  Types types() const { return {storage(), DType::f32}; }
  Tolerance stored() const { return tolerance_of(storage()); }
  Backend& cpu() { return *backend_; }
  Backend& reference() { return reference_; }

 private:
  std::unique_ptr<Backend> backend_;
  ReferenceBackend reference_;
};

// Every instruction set of this machine that kernels are compiled for, best first.
inline std::vector<int64_t> instruction_sets() { return hwy::SupportedAndGeneratedTargets(); }

inline std::vector<Setting> settings_of(const std::vector<int64_t>& sets) {
  std::vector<Setting> settings;
  for (const int64_t set : sets) {
    settings.push_back({set, DType::f32});
    settings.push_back({set, DType::bf16});
  }
  return settings;
}

// For products, also bf16 by the instruction for pairs, where the machine has it.
inline std::vector<Setting> product_settings_of(const std::vector<int64_t>& sets) {
  std::vector<Setting> settings = settings_of(sets);
  for (const int64_t set : sets) {
    use_instruction_set(set);
    if (cpu::has_bf16_pairs()) {
      settings.push_back({set, DType::bf16, cpu::Bf16Products::pairs});
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  return settings;
}

// For products of integers, also AVX2 with the extension for them, where the machine has it.
inline std::vector<Setting> integer_settings_of(const std::vector<int64_t>& sets) {
  std::vector<Setting> settings = settings_of(sets);
  if (cpu::has_avx_vnni()) {
    for (const DType storage : {DType::f32, DType::bf16}) {
      settings.push_back({HWY_AVX2, storage, cpu::Bf16Products::widened, cpu::AvxVnni::allowed});
    }
  }
  return settings;
}

inline std::string name_of_setting(const ::testing::TestParamInfo<Setting>& info) {
  const Setting& setting = info.param;
  return std::string(hwy::TargetName(setting.instruction_set)) + "_" + std::string(name_of(setting.storage)) +
         (setting.products == cpu::Bf16Products::pairs ? "_pairs" : "") +
         (setting.avx_vnni == cpu::AvxVnni::allowed ? "_vnni" : "");
}

inline void PrintTo(const Setting& setting, std::ostream* out) {
  *out << name_of_setting(::testing::TestParamInfo<Setting>(setting, 0));
}

// `run` gives one result per row of a case. The rows of a part of the case must be the same bits as those rows of all.
template <class Case, class Run>
void expect_same_rows(const Case& whole, int64_t rows, Run&& run) {
  const Guarded all = run(whole);
  ASSERT_EQ(all.rows(), rows);
  for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1}, {rows - 1, 1}, {rows / 2, 1}, {7, 1}, {0, 5}, {3, 5}, {rows - 5, 5}, {1, rows - 2}}) {
    EXPECT_TRUE(same_bits(run(whole.rows(first, count)), all.rows(first, count)))
        << count << " rows from row " << first << " of " << rows;
  }
}

}  // namespace heed::test

// Runs a suite of CpuTest for each instruction set and storage type.
#define HEED_ON_EVERY_INSTRUCTION_SET(Suite) \
  INSTANTIATE_TEST_SUITE_P(Sets, Suite, ::testing::ValuesIn(settings_of(instruction_sets())), name_of_setting)
// And for each way of multiplying.
#define HEED_ON_EVERY_PRODUCT(Suite) \
  INSTANTIATE_TEST_SUITE_P(Sets, Suite, ::testing::ValuesIn(product_settings_of(instruction_sets())), name_of_setting)
// And for each way of summing integers.
#define HEED_ON_EVERY_INTEGER_PRODUCT(Suite) \
  INSTANTIATE_TEST_SUITE_P(Sets, Suite, ::testing::ValuesIn(integer_settings_of(instruction_sets())), name_of_setting)
