#include <cuda_runtime.h>

#include "base/errors.h"
#include "heed_cuda/device/queue.h"

namespace heed::cuda {
namespace {

constexpr int kLeastMajor = 8;  // compute capability

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    cudaGetLastError();  // or the next kernel would be blamed
  }
  require<DeviceError>(error == cudaSuccess, "cuda", "{}: {}", what, cudaGetErrorString(error));
}

DeviceFacts facts_of(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "the device's properties");
  return {properties.name, properties.major, properties.minor, properties.multiProcessorCount,
          static_cast<int64_t>(properties.sharedMemPerBlockOptin)};
}

size_t size(int64_t bytes) { return static_cast<size_t>(bytes); }

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(int device) : device_(device), facts_(facts_of(device)) {
    check(cudaSetDevice(device), "the device cannot be used");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  }
  ~CudaQueue() override { cudaStreamDestroy(stream_); }

  const DeviceFacts& facts() const override { return facts_; }
  int device() const override { return device_; }

  void* allocate(int64_t bytes) override {
    void* address = nullptr;
    cudaSetDevice(device_);
    const cudaError_t error = cudaMalloc(&address, size(bytes));
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // it is answered by the null
      return nullptr;
    }
    check(error, "memory");
    return address;
  }
  int64_t free_bytes() const override {
    size_t free = 0, total = 0;
    cudaSetDevice(device_);
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? static_cast<int64_t>(free) : 0;
  }
  void release(void* address) override { cudaFree(address); }

  void upload(const void* from, void* to, const Block2d& block) override {
    move(from, to, block, cudaMemcpyHostToDevice);
  }
  void download(const void* from, void* to, const Block2d& block) override {
    move(from, to, block, cudaMemcpyDeviceToHost);
    wait();
  }
  void copy(const void* from, void* to, const Block2d& block) override {
    move(from, to, block, cudaMemcpyDeviceToDevice);
  }
  void fill_bytes(void* address, int value, int64_t bytes) override {
    check(cudaMemsetAsync(address, value, size(bytes), static_cast<cudaStream_t>(handle())), "filling memory");
  }

  void wait() override { check(cudaStreamSynchronize(stream_), "the device has failed"); }
  void* handle() override {
    cudaSetDevice(device_);  // of the thread that is about to start a kernel
    return stream_;
  }

 private:
  // The host's memory is pageable: CUDA has taken a copy of it when it returns.
  void move(const void* from, void* to, const Block2d& block, cudaMemcpyKind kind) {
    if (block.rows == 0 || block.row_bytes == 0) {
      return;
    }
    const bool one_piece =
        block.rows == 1 || (block.from_stride == block.row_bytes && block.to_stride == block.row_bytes);
    check(one_piece ? cudaMemcpyAsync(to, from, size(block.rows * block.row_bytes), kind, stream_)
                    : cudaMemcpy2DAsync(to, size(block.to_stride), from, size(block.from_stride), size(block.row_bytes),
                                        size(block.rows), kind, stream_),
          "copying");
  }

  int device_;
  DeviceFacts facts_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Queue> Queue::open(int device) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  require<ConfigError>(error == cudaSuccess, "cuda", "no NVIDIA GPU can be used: {}; look whether nvidia-smi shows one",
                       cudaGetErrorString(error));
  require<ConfigError>(device >= 0 && device < devices, "cuda", "there is no device {}: {} {} here", device, devices,
                       devices == 1 ? "is" : "are");
  auto queue = std::make_unique<CudaQueue>(device);
  const DeviceFacts& facts = queue->facts();
  require<ConfigError>(facts.major >= kLeastMajor, "cuda", "{} has compute capability {}.{}, at least {}.0 is needed",
                       facts.name, facts.major, facts.minor, kLeastMajor);
  return queue;
}

}  // namespace heed::cuda
