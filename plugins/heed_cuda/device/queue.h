// A device's memory, and the queue of what it is to do. Implemented on CUDA (queue_cuda.cpp) and on the CPU
// (queue_emulated.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace heed::cuda {

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int64_t shared_bytes = 0;  // that a block may ask for
};

// Bytes between rows, in both memories.
struct Block2d {
  int64_t rows = 0, row_bytes = 0;
  int64_t from_stride = 0, to_stride = 0;
};

// What is enqueued, by any thread, runs in this order, behind the caller. Failures are reported as DeviceError by the
// call that notices them, which may be a later one.
class Queue {
 public:
  // ConfigError where there is no such device, or no driver; the message says what to do.
  static std::unique_ptr<Queue> open(int device);
  virtual ~Queue() = default;

  virtual const DeviceFacts& facts() const = 0;
  virtual int device() const = 0;

  // 256-byte aligned, contents undefined. Null where there is no more.
  virtual void* allocate(int64_t bytes) = 0;
  virtual int64_t free_bytes() const = 0;
  virtual void release(void* address) = 0;  // null: nothing; else waits for all that was enqueued

  // Host memory may change as soon as these have returned.
  virtual void upload(const void* from, void* to, const Block2d& block) = 0;
  // Waits until the bytes are there.
  virtual void download(const void* from, void* to, const Block2d& block) = 0;
  virtual void copy(const void* from, void* to, const Block2d& block) = 0;
  virtual void fill_bytes(void* address, int value, int64_t bytes) = 0;

  virtual void wait() = 0;
  virtual void* handle() = 0;  // of CUDA: a cudaStream_t
};

}  // namespace heed::cuda
