// What tests of any backend ask of the one that they run on. tests/backends/*_test.cpp are part of the programs that
// test the CPU's backend and that of GPUs; each defines settings_for() for its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend_testing.h"
#include "kernels/op_cases.h"
#include "kernels/reference/reference_backend.h"

namespace heed::test {

// Around the widths of vectors (4, 8 and 16 floats) and of two and four of them.
inline const std::vector<int64_t> kColumns{1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257};
inline const std::vector<int64_t> kRows{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 64, 100};
// Around 512, the depth of one pass of a product.
inline const std::vector<int64_t> kDepths{1, 3, 511, 512, 513, 1100};

inline constexpr Activation kActivations[] = {Activation::none, Activation::relu,      Activation::relu_squared,
                                              Activation::gelu, Activation::gelu_tanh, Activation::silu,
                                              Activation::tanh};

struct BackendSetting {
  std::string name;
  Device device = Device::cpu;
  DType storage = DType::f32;
  // Makes a backend that has that many threads of the host, if it uses them; with all that the setting asks for, which
  // holds until `leave`.
  std::function<std::unique_ptr<Backend>(int threads)> make;
  std::function<void()> leave;
};

// All settings in which some kernels may differ: those of any call, of products, and of products of integers.
enum class KernelsOf : uint8_t { any_call, products, integer_products };
std::vector<BackendSetting> settings_for(KernelsOf kernels);

// What to try on each device. On GPUs around the sizes of warps and tiles, and no more than their emulation has time
// for.
template <class T>
struct OnEach {
  std::vector<T> cpu, cuda;
};
using Sizes = OnEach<int64_t>;
using Shapes = OnEach<std::pair<int64_t, int64_t>>;

// Lengths of rows: on GPUs around the elements that a thread takes, and those of a warp.
inline const Sizes kRowLengths{.cpu = kColumns, .cuda = {1, 3, 4, 7, 8, 9, 33, 257}};

class BackendTest : public ::testing::TestWithParam<BackendSetting> {
 protected:
  BackendTest() : backend_(make(2)) {}
  ~BackendTest() override { GetParam().leave(); }

  static std::unique_ptr<Backend> make(int threads) { return GetParam().make(threads); }
  DType storage() const { return GetParam().storage; }
  Types types() const { return {storage(), DType::f32}; }
  Tolerance stored() const { return tolerance_of(storage()); }
  Backend& backend() { return *backend_; }
  Backend& reference() { return reference_; }

  template <class T>
  T here(const T& cpu, const T& cuda) const {
    return GetParam().device == Device::cpu ? cpu : cuda;
  }
  std::vector<int64_t> sizes(const Sizes& sizes) const { return here(sizes.cpu, sizes.cuda); }
  std::vector<std::pair<int64_t, int64_t>> shapes(const Shapes& shapes) const { return here(shapes.cpu, shapes.cuda); }

 private:
  std::unique_ptr<Backend> backend_;
  ReferenceBackend reference_;
};

inline std::string name_of_setting(const ::testing::TestParamInfo<BackendSetting>& info) { return info.param.name; }
inline void PrintTo(const BackendSetting& setting, std::ostream* out) { *out << setting.name; }

// `run` gives one result per row of a case. The rows of a part of the case must be the same bits as those rows of all.
template <class Case, class Run>
void expect_same_rows(const Case& whole, int64_t rows, Run&& run) {
  const Guarded all = run(whole);
  ASSERT_EQ(all.rows(), rows);
  for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 1},
                                                                             {rows - 1, 1},
                                                                             {rows / 2, 1},
                                                                             {7, 1},
                                                                             {0, 5},
                                                                             {3, 5},
                                                                             {rows - 5, 5},
                                                                             {2, 17},
                                                                             {rows - 40, 40},
                                                                             {1, rows - 2}}) {
    EXPECT_TRUE(same_bits(run(whole.rows(first, count)), all.rows(first, count)))
        << count << " rows from row " << first << " of " << rows;
  }
}

// Runs a test's body on operands whose rows begin anywhere, and on those that kernels can move 16 bytes at a time.
template <class Body>
void with_each_layout(Body&& body) {
  {
    SCOPED_TRACE("rows begin anywhere");
    body();
  }
  SCOPED_TRACE("rows begin at multiples of 16 bytes");
  const AlignedOperands aligned;
  body();
}

}  // namespace heed::test

// Runs a suite of BackendTest in each setting of such kernels.
#define HEED_IN_EACH_SETTING(Suite, kernels) \
  INSTANTIATE_TEST_SUITE_P(Settings, Suite, ::testing::ValuesIn(settings_for(KernelsOf::kernels)), name_of_setting)
