#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "base/errors.h"
#include "heed_cuda/device/emulated_faults.h"
#include "heed_cuda/device/queue.h"

namespace heed::cuda {
namespace {

constexpr int64_t kGuard = 256;  // bytes before and behind a block, 0xff like its own contents at first

std::atomic<int64_t> g_calls_before_fault{-1};

void count_call() {
  if (g_calls_before_fault.load() >= 0 && g_calls_before_fault.fetch_sub(1) == 0) {
    fail<DeviceError>("cuda", "the device has failed (an injected fault)");
  }
}

// Memory of the "device" is the host's, though every view of it says that it is not.
class EmulatedQueue final : public Queue {
 public:
  const DeviceFacts& facts() const override {
    static const DeviceFacts facts{"emulated", 9, 0, 4, int64_t{227} << 10};
    return facts;
  }
  int device() const override { return 0; }

  ~EmulatedQueue() override {
    for (const auto& [address, bytes] : blocks_) {
      check_guards(address, bytes);
      std::free(address - kGuard);
    }
  }

  void* allocate(int64_t bytes) override {
    count_call();
    const auto size = static_cast<size_t>((bytes + kGuard - 1) / kGuard * kGuard + 2 * kGuard);
    auto* const memory = static_cast<unsigned char*>(std::aligned_alloc(kGuard, size));
    if (memory == nullptr) {
      return nullptr;
    }
    std::memset(memory, 0xff, size);
    const std::lock_guard lock(mutex_);
    blocks_[memory + kGuard] = bytes;
    return memory + kGuard;
  }
  int64_t free_bytes() const override { return int64_t{1} << 34; }
  void release(void* address) override {
    if (address == nullptr) {
      return;
    }
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(static_cast<unsigned char*>(address));
    ensure(block != blocks_.end(), "cuda", "memory is released that was not allocated");
    check_guards(block->first, block->second);
    std::free(block->first - kGuard);
    blocks_.erase(block);
  }

  void upload(const void* from, void* to, const Block2d& block) override { move(from, to, block); }
  void download(const void* from, void* to, const Block2d& block) override { move(from, to, block); }
  void copy(const void* from, void* to, const Block2d& block) override { move(from, to, block); }
  void fill_bytes(void* address, int value, int64_t bytes) override {
    count_call();
    std::memset(address, value, static_cast<size_t>(bytes));
  }
  void wait() override { count_call(); }
  void* handle() override { return nullptr; }

 private:
  static void move(const void* from, void* to, const Block2d& block) {
    count_call();
    for (int64_t r = 0; r < block.rows; ++r) {
      std::memmove(static_cast<unsigned char*>(to) + r * block.to_stride,
                   static_cast<const unsigned char*>(from) + r * block.from_stride,
                   static_cast<size_t>(block.row_bytes));
    }
  }

  static void check_guards(const unsigned char* address, int64_t bytes) {
    for (int64_t i = 0; i < kGuard; ++i) {
      if (address[-1 - i] != 0xff || address[bytes + i] != 0xff) {
        fmt::print(stderr, "emulated device: memory was written out of bounds of a block of {} bytes\n", bytes);
        std::abort();
      }
    }
  }

  std::mutex mutex_;  // of:
  std::map<unsigned char*, int64_t> blocks_;
};

}  // namespace

std::unique_ptr<Queue> Queue::open(int device) {
  require<ConfigError>(device == 0, "cuda", "there is no device {}, only device 0", device);
  return std::make_unique<EmulatedQueue>();
}

void emulation::fail_after(int64_t calls) { g_calls_before_fault = calls; }

}  // namespace heed::cuda
