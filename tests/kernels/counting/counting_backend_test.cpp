#include "kernels/counting/counting_backend.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/calls/linear.h"

namespace heed {
namespace {

constexpr int64_t kTerabyte = int64_t{1} << 40;

TEST(CountingBackend, WhatItKeepsHasAnAddressOfItsOwnAndNoMemory) {
  Profile profile;
  const std::unique_ptr<Backend> backend = make_counting_backend(profile);
  std::set<const void*> addresses;
  for (const DType type : {DType::f32, DType::bf16, DType::f32}) {
    const Tensor kept = backend->keep({8, kTerabyte}, type);
    EXPECT_EQ(kept.bytes(), 8 * kTerabyte * size_of(type));
    addresses.insert(host_address(kept.view()));
  }
  EXPECT_EQ(addresses.size(), 3U);
  EXPECT_EQ(backend->arena().peak_bytes(), 0);
}

TEST(CountingBackend, ItsArenaCountsBlocksThatNoMachineHasMemoryFor) {
  Profile profile;
  const std::unique_ptr<Backend> backend = make_counting_backend(profile);
  {
    const Tensor a({4, kTerabyte}, DType::f32, backend->arena()), b({4, kTerabyte}, DType::f32, backend->arena());
    EXPECT_EQ(backend->arena().bytes_in_use(), 32 * kTerabyte);
  }
  EXPECT_EQ(backend->arena().bytes_in_use(), 0);
  EXPECT_EQ(backend->arena().peak_bytes(), 32 * kTerabyte);
}

TEST(CountingBackend, ProductsAreCountedByTheMatrixThatTheyReadOrWhoseGradientTheyCompute) {
  Profile profile;
  const std::unique_ptr<Backend> backend = make_counting_backend(profile);
  const Tensor weight = backend->keep({6, 5}, DType::bf16), gradient = backend->keep({6, 5}, DType::f32);
  const Tensor x({7, 5}, DType::bf16, backend->arena()), y({7, 6}, DType::bf16, backend->arena());
  const double flops = 2.0 * 7 * 6 * 5;
  backend->linear({.x = x.view(), .weight = {weight.view()}, .y = y.view()});
  backend->linear_input_gradient({.d_y = y.view(), .weight = {weight.view()}, .d_x = x.view()});
  backend->linear_weight_gradient({.d_y = y.view(), .x = x.view(), .d_weight = gradient.view(), .d_bias = {}});
  EXPECT_EQ(profile.flops(), 3.0 * flops);
  EXPECT_EQ(profile.flops_of_matrices.at(host_address(weight.view())), 2.0 * flops);
  EXPECT_EQ(profile.flops_of_matrices.at(host_address(gradient.view())), flops);
}

TEST(CountingBackend, TheGradientOfABiasAloneIsNoProduct) {
  Profile profile;
  const std::unique_ptr<Backend> backend = make_counting_backend(profile);
  const Tensor d_y({7, 6}, DType::bf16, backend->arena()), bias = backend->keep({1, 6}, DType::f32);
  backend->linear_weight_gradient({.d_y = d_y.view(), .x = d_y.view(), .d_weight = {}, .d_bias = bias.view()});
  EXPECT_EQ(profile.flops(), 0.0);
  EXPECT_TRUE(profile.products.empty());
}

TEST(CountingBackend, PackedMatricesKnowTheirSize) {
  Profile profile;
  const std::unique_ptr<Backend> backend = make_counting_backend(profile);
  const auto never = [](int64_t, int64_t) -> ConstView { throw std::logic_error("no row is read"); };
  const std::unique_ptr<PackedWeight> packed = backend->pack({1 << 20, 1 << 20}, {DType::bf16, DType::bf16}, never);
  EXPECT_EQ(packed->bytes(), 2 * kTerabyte);
  const std::unique_ptr<PackedWeight> halves = backend->pack(Int4Matrix{{64, 128}, never, {}});
  EXPECT_EQ(halves->bytes(), 64 * 128 / 2 + 64 * 128 / kInt4Group * 2);
  const std::unique_ptr<PackedWeight> groups = backend->pack(Int8GroupMatrix{{64, 128}, never, {}}, DType::f32);
  EXPECT_EQ(groups->bytes(), 64 * 128 + 64 * 128 / kInt8Group * 2);
  const std::vector<int32_t> rows{3, 5, 7};
  EXPECT_EQ(backend->select_packed_rows(*packed, rows)->bytes(), 3 * (2 << 20));
}

TEST(CountingBackend, WorkOnLanesIsCountedToo) {
  Profile profile;
  const std::unique_ptr<Backend> backend = make_counting_backend(profile);
  backend->run_on_lanes(5, [](int64_t, Backend& lane) {
    const Tensor x({2, 3}, DType::f32, lane.arena()), y({2, 2}, DType::f32, lane.arena());
    lane.linear({.x = x.view(), .weight = {x.view()}, .y = y.view()});
  });
  EXPECT_EQ(profile.ops.at("linear").calls, 5);
}

}  // namespace
}  // namespace heed
