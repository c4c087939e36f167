#include <hwy/targets.h>

#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

struct NamedExtension {
  const char* name;
  cpu::Extension extension;
};
constexpr NamedExtension kIntegerExtensions[] = {
    {"_vnni", cpu::Extension::avx_vnni}, {"_dotprod", cpu::Extension::dotprod}, {"_i8mm", cpu::Extension::i8mm}};

BackendSetting setting_of(int64_t instruction_set, DType storage, cpu::Bf16Products products,
                          const NamedExtension& extension = {"", cpu::Extension::none}) {
  // ARM's instruction for pairs is an extension too.
  const cpu::Extension best = products == cpu::Bf16Products::pairs ? cpu::Extension::bf16 : extension.extension;
  return {.name = std::string(hwy::TargetName(instruction_set)) + "_" + std::string(name_of(storage)) +
                  (products == cpu::Bf16Products::pairs ? "_pairs" : "") + extension.name,
          .device = Device::cpu,
          .storage = storage,
          .make =
              [=](int threads) {
                use_instruction_set(instruction_set);
                cpu::limit_extensions(best);
                return make_cpu_backend(threads, products);
              },
          .leave =
              [] {
                hwy::SetSupportedTargetsForTest(0);
                cpu::limit_extensions(cpu::Extension::bf16);
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
  // AVX2 and NEON with the extensions for integers that the machine has.
  if (kernels == KernelsOf::integer_products && (instruction_set == HWY_AVX2 || instruction_set == HWY_NEON)) {
    for (const NamedExtension& extension : kIntegerExtensions) {
      for (const DType storage : {DType::f32, DType::bf16}) {
        if (cpu::has_extension(extension.extension)) {
          settings.push_back(setting_of(instruction_set, storage, cpu::Bf16Products::widened, extension));
        }
      }
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
