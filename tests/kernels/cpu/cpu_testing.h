// Helpers for the tests of the CPU backend: every instruction set of this machine, both storage types.
#pragma once

#include <hwy/targets.h>

#include <vector>

#include "backends/backend_test.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/machine/instruction_sets.h"

namespace heed::test {

// For what is of the CPU's backend alone.
class CpuTest : public BackendTest {
 protected:
  Backend& cpu() { return backend(); }
};

// Lets the kernels use one instruction set (Highway's bit) and those below it, as on a machine that has no better one.
void use_instruction_set(int64_t target);
// Every instruction set of this machine that kernels are compiled for, best first.
std::vector<int64_t> instruction_sets();
// How kernels may differ on one instruction set.
std::vector<BackendSetting> settings_on(int64_t instruction_set, KernelsOf kernels);

}  // namespace heed::test

// Runs a suite of CpuTest for each instruction set and storage type.
#define HEED_ON_EVERY_INSTRUCTION_SET(Suite) HEED_IN_EACH_SETTING(Suite, any_call)
// And for each way of multiplying.
#define HEED_ON_EVERY_PRODUCT(Suite) HEED_IN_EACH_SETTING(Suite, products)
