#include "kernels/host_copy.h"
#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

class CudaLanes : public CudaTest {};
HEED_ON_CUDA(CudaLanes);

TEST_P(CudaLanes, WhatALaneKeepsOutlivesIt) {
  std::unique_ptr<Backend> lane = cuda().make_lane();
  Tensor kept = lane->keep({3, 5}, storage());
  lane->fill(kept.view(), 1.5);
  lane.reset();
  const HostCopy on_host(cuda(), kept.view());
  EXPECT_EQ(reference::get(on_host.view(), 2, 4), 1.5);
  kept = Tensor();
  EXPECT_EQ(reference::get(HostCopy(cuda(), cuda().keep({3, 5}, storage()).view()).view(), 2, 4), 0.0);
}

TEST_P(CudaLanes, ALaneFindsDoneWhatWasAskedForBefore) {
  const Tensor kept = cuda().keep({64, 512}, storage());
  const std::unique_ptr<Backend> lane = cuda().make_lane();
  for (int value = 1; value <= 8; ++value) {
    cuda().fill(kept.view(), value);
    const Tensor copy = lane->keep({64, 512}, storage());
    lane->copy(kept.view(), copy.view());
    EXPECT_EQ(reference::get(HostCopy(*lane, copy.view()).view(), 63, 511), value);
  }
}

}  // namespace
}  // namespace heed::test
