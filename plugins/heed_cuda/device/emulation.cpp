#include "heed_cuda/device/emulation.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define HEED_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEED_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef HEED_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace heed::cuda::emulation {
namespace {

constexpr size_t kStack = size_t{128} << 10;
constexpr size_t kGuard = 64;  // bytes before and behind shared memory
constexpr unsigned kLanes = 32;

Order g_order = Order::forward;

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "emulated kernel: %s\n", why);
  std::abort();
}

// Threads wait here until all of them have arrived.
struct Barrier {
  unsigned expected = 0, arrived = 0;
  uint64_t passed = 0;
};

struct Warp {
  Barrier barrier;
  // Two rounds of contributions: no lane begins the next but one before all have read this one.
  unsigned char values[2][kLanes * kMostExchanged];
  uint64_t rounds[kLanes] = {};
};

struct Fibre {
  ucontext_t context;
  std::unique_ptr<unsigned char[]> stack;
  void* sanitizer_stack = nullptr;
  Place place;
  Barrier* waits_for = nullptr;
  uint64_t passed_before = 0;
  bool ended = false;
};

// The block that a thread of this process runs.
class Block {
 public:
  void run(dim3 grid, dim3 at, dim3 extent, size_t shared_bytes, const std::function<void()>& body);

  Place& place() { return running_->place; }
  unsigned char* shared() { return shared_.data() + kGuard; }

  void wait(Barrier& barrier) {
    Fibre& fibre = *running_;
    if (++barrier.arrived == barrier.expected) {
      barrier.arrived = 0;
      ++barrier.passed;
      return;
    }
    fibre.waits_for = &barrier;
    fibre.passed_before = barrier.passed;
    to_scheduler(fibre, /*for_good=*/false);
  }
  Barrier& whole() { return barrier_; }
  unsigned index() const {
    const Place& at = running_->place;
    return at.thread.x + at.block_extent.x * (at.thread.y + at.block_extent.y * at.thread.z);
  }
  Warp& warp() { return warps_[index() / kLanes]; }

 private:
  static void enter();
  void to_fibre(Fibre& fibre);
  void to_scheduler(Fibre& fibre, bool for_good);
  void prepare(dim3 grid, dim3 at, dim3 extent, size_t shared_bytes);
  void check_guards() const;

  ucontext_t scheduler_{};
  void* scheduler_sanitizer_stack_ = nullptr;
  const void* scheduler_bottom_ = nullptr;
  size_t scheduler_size_ = 0;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<Warp> warps_;
  std::vector<unsigned> order_;
  std::vector<unsigned char> shared_;
  Barrier barrier_;
  Fibre* running_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  std::minstd_rand draws_{1};
};

Block& current() {
  static thread_local Block block;
  return block;
}

void Block::enter() {
  Block& block = current();
#ifdef HEED_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &block.scheduler_bottom_, &block.scheduler_size_);
#endif
  (*block.body_)();
  Fibre& fibre = *block.running_;
  fibre.ended = true;
  block.to_scheduler(fibre, /*for_good=*/true);
}

void Block::to_fibre(Fibre& fibre) {
  running_ = &fibre;
#ifdef HEED_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&scheduler_sanitizer_stack_, fibre.stack.get(), kStack);
#endif
  swapcontext(&scheduler_, &fibre.context);
#ifdef HEED_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(scheduler_sanitizer_stack_, nullptr, nullptr);
#endif
}

void Block::to_scheduler(Fibre& fibre, [[maybe_unused]] bool for_good) {
#ifdef HEED_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fibre.sanitizer_stack, scheduler_bottom_, scheduler_size_);
#endif
  swapcontext(&fibre.context, &scheduler_);
#ifdef HEED_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fibre.sanitizer_stack, &scheduler_bottom_, &scheduler_size_);
#endif
}

void Block::prepare(dim3 grid, dim3 at, dim3 extent, size_t shared_bytes) {
  const unsigned threads = extent.x * extent.y * extent.z;
  shared_.assign(kGuard + shared_bytes + kGuard, 0xff);
  warps_.assign(threads / kLanes, Warp{});
  for (Warp& warp : warps_) {
    warp.barrier.expected = kLanes;
  }
  barrier_ = {.expected = threads};
  while (fibres_.size() < threads) {
    fibres_.push_back(std::make_unique<Fibre>());
    fibres_.back()->stack = std::make_unique<unsigned char[]>(kStack);
  }
  order_.resize(threads);
  std::iota(order_.begin(), order_.end(), 0U);
  if (g_order == Order::backward) {
    std::ranges::reverse(order_);
  }
  for (unsigned i = 0; i < threads; ++i) {
    Fibre& fibre = *fibres_[i];
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = kStack;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, &Block::enter, 0);
    fibre.place = {{i % extent.x, i / extent.x % extent.y, i / (extent.x * extent.y)}, at, extent, grid};
    fibre.waits_for = nullptr;
    fibre.ended = false;
  }
}

void Block::run(dim3 grid, dim3 at, dim3 extent, size_t shared_bytes, const std::function<void()>& body) {
  body_ = &body;
  prepare(grid, at, extent, shared_bytes);
  size_t ended = 0;
  while (ended < order_.size()) {
    if (g_order == Order::shuffled) {
      std::ranges::shuffle(order_, draws_);
    }
    bool moved = false;
    for (const unsigned i : order_) {
      Fibre& fibre = *fibres_[i];
      if (fibre.ended || (fibre.waits_for != nullptr && fibre.waits_for->passed == fibre.passed_before)) {
        continue;
      }
      fibre.waits_for = nullptr;
      to_fibre(fibre);
      moved = true;
      ended += fibre.ended ? 1 : 0;
    }
    if (!moved) {
      stop("some threads wait at a barrier that the others never reach");
    }
  }
  check_guards();
}

void Block::check_guards() const {
  const auto intact = [](auto begin, auto end) {
    return std::all_of(begin, end, [](auto byte) { return byte == 0xff; });
  };
  if (!intact(shared_.begin(), shared_.begin() + kGuard) || !intact(shared_.end() - kGuard, shared_.end())) {
    stop("shared memory was written out of bounds");
  }
}

}  // namespace

Place& place() { return current().place(); }
unsigned char* shared_memory() { return current().shared(); }
void block_barrier() { current().wait(current().whole()); }
void warp_barrier() { current().wait(current().warp().barrier); }

const unsigned char* gather(const void* own, size_t size) {
  Block& block = current();
  Warp& warp = block.warp();
  const unsigned lane = block.index() % kLanes;
  unsigned char* const values = warp.values[warp.rounds[lane]++ % 2];
  std::memcpy(values + lane * kMostExchanged, own, size);
  block.wait(warp.barrier);
  return values;
}

void exchange(const void* own, void* of_lane, size_t size, int lane) {
  const unsigned char* const values = gather(own, size);
  std::memcpy(of_lane, values + static_cast<size_t>(lane) * kMostExchanged, size);
}

void set_order(Order order) { g_order = order; }

void run_grid(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& body) {
  if (block.x * block.y * block.z % kLanes != 0) {
    stop("a block whose threads are not a multiple of 32");
  }
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        current().run(grid, {x, y, z}, block, shared_bytes, body);
      }
    }
  }
}

}  // namespace heed::cuda::emulation
