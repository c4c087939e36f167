#include <hwy/targets.h>

#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

BackendSetting setting_of(int64_t instruction_set, DType storage, cpu::Bf16Products products,
                          cpu::AvxVnni avx_vnni = cpu::AvxVnni::forbidden) {
  return {.name = std::string(hwy::TargetName(instruction_set)) + "_" + std::string(name_of(storage)) +
                  (products == cpu::Bf16Products::pairs ? "_pairs" : "") +
                  (avx_vnni == cpu::AvxVnni::allowed ? "_vnni" : ""),
          .device = Device::cpu,
          .storage = storage,
          .make =
              [=](int threads) {
                use_instruction_set(instruction_set);
                cpu::allow_avx_vnni(avx_vnni);
                return make_cpu_backend(threads, products);
              },
          .leave =
              [] {
                hwy::SetSupportedTargetsForTest(0);
                cpu::allow_avx_vnni(cpu::AvxVnni::allowed);
              }};
}

}  // namespace

void use_instruction_set(int64_t target) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(target - 1));
}

std::vector<int64_t> instruction_sets() { return hwy::SupportedAndGeneratedTargets(); }

std::vector<BackendSetting> settings_on(int64_t instruction_set, KernelsOf kernels) {
  std::vector<BackendSetting> settings{setting_of(instruction_set, DType::f32, cpu::Bf16Products::widened),
                                       setting_of(instruction_set, DType::bf16, cpu::Bf16Products::widened)};
  if (kernels == KernelsOf::products) {
    use_instruction_set(instruction_set);
    // By the instruction for pairs, where the machine has it.
    if (cpu::has_bf16_pairs()) {
      settings.push_back(setting_of(instruction_set, DType::bf16, cpu::Bf16Products::pairs));
    }
    hwy::SetSupportedTargetsForTest(0);
  }
  // AVX2 with the extension for integers, where the machine has it.
  if (kernels == KernelsOf::integer_products && instruction_set == HWY_AVX2 && cpu::has_avx_vnni()) {
    for (const DType storage : {DType::f32, DType::bf16}) {
      settings.push_back(setting_of(HWY_AVX2, storage, cpu::Bf16Products::widened, cpu::AvxVnni::allowed));
    }
  }
  return settings;
}

std::vector<BackendSetting> settings_for(KernelsOf kernels) {
  std::vector<BackendSetting> settings;
  for (const int64_t set : instruction_sets()) {
    for (BackendSetting& setting : settings_on(set, kernels)) {
      settings.push_back(std::move(setting));
    }
  }
  return settings;
}

}  // namespace heed::test
