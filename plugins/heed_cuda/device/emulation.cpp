#include "heed_cuda/device/emulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "heed_cuda/device/emulated_stack.h"

namespace heed::cuda::emulation {
namespace {

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
  Stack stack;
  Place place;
  Barrier* waits_for = nullptr;
  uint64_t passed_before = 0;
  bool ended = false;

  bool ready() const { return !ended && (waits_for == nullptr || waits_for->passed != passed_before); }
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
    fibre.stack.change_to(next());
  }
  Barrier& whole() { return barrier_; }
  unsigned index() const {
    const Place& at = running_->place;
    return at.thread.x + at.block_extent.x * (at.thread.y + at.block_extent.y * at.thread.z);
  }
  Warp& warp() { return warps_[index() / kLanes]; }

 private:
  static void enter();
  void prepare(dim3 grid, dim3 at, dim3 extent, size_t shared_bytes);
  void begin_pass();
  Stack& next();
  void check_guards() const;

  Stack host_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<Warp> warps_;
  std::vector<unsigned> order_;
  size_t position_ = 0, ended_ = 0;  // in this pass over order_, and of all threads
  bool moved_ = false;               // some thread has run in this pass
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
  Stack::entered();
  Block& block = current();
  (*block.body_)();
  Fibre& fibre = *block.running_;
  fibre.ended = true;
  ++block.ended_;
  fibre.stack.leave_to(block.next());
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
  }
  order_.resize(threads);
  std::iota(order_.begin(), order_.end(), 0U);
  if (g_order == Order::backward) {
    std::ranges::reverse(order_);
  }
  for (unsigned i = 0; i < threads; ++i) {
    Fibre& fibre = *fibres_[i];
    fibre.stack.begin(&Block::enter);
    fibre.place = {{i % extent.x, i / extent.x % extent.y, i / (extent.x * extent.y)}, at, extent, grid};
    fibre.waits_for = nullptr;
    fibre.ended = false;
  }
}

void Block::begin_pass() {
  if (g_order == Order::shuffled) {
    std::ranges::shuffle(order_, draws_);
  }
  position_ = 0;
  moved_ = false;
}

// The thread that runs next, or the host when all have ended: passes go over all threads until none is left.
Stack& Block::next() {
  while (ended_ < order_.size()) {
    while (position_ < order_.size()) {
      Fibre& fibre = *fibres_[order_[position_++]];
      if (fibre.ready()) {
        fibre.waits_for = nullptr;
        running_ = &fibre;
        moved_ = true;
        return fibre.stack;
      }
    }
    if (!moved_) {
      stop("some threads wait at a barrier that the others never reach");
    }
    begin_pass();
  }
  return host_;
}

void Block::run(dim3 grid, dim3 at, dim3 extent, size_t shared_bytes, const std::function<void()>& body) {
  body_ = &body;
  prepare(grid, at, extent, shared_bytes);
  ended_ = 0;
  begin_pass();
  host_.change_to(next());
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
