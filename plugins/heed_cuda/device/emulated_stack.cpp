#include "heed_cuda/device/emulated_stack.h"

#include <cstdint>
#include <cstring>

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

#ifdef __x86_64__
// Puts the registers that a call preserves on the running stack and its top into *from; takes those of `to`, and
// returns there. swapcontext() asks the kernel for the mask of signals each time, which takes four fifths of an
// emulated kernel's time.
extern "C" void heed_cuda_change_stack(void** from, void* to);
asm(R"(
  .pushsection .text
  .hidden heed_cuda_change_stack
  .globl heed_cuda_change_stack
  .type heed_cuda_change_stack, @function
heed_cuda_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size heed_cuda_change_stack, . - heed_cuda_change_stack
  .popsection
)");
#endif

namespace heed::cuda::emulation {
namespace {

constexpr size_t kStackBytes = size_t{128} << 10;

thread_local Stack* t_left = nullptr;  // the one that ran before

}  // namespace

void Stack::begin(void (*entry)()) {
  if (memory_ == nullptr) {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    bottom_ = memory_.get();
    size_ = kStackBytes;
  }
#ifdef __x86_64__
  // As if entry() had been called from address 0: six registers, where to go, and the return address.
  const auto end = reinterpret_cast<uintptr_t>(memory_.get() + kStackBytes) / 16 * 16;
  const uintptr_t top[] = {0, 0, 0, 0, 0, 0, reinterpret_cast<uintptr_t>(entry), 0};
  waiting_ = reinterpret_cast<void*>(end - sizeof(top));
  std::memcpy(waiting_, top, sizeof(top));
#else
  getcontext(&waiting_);
  waiting_.uc_stack.ss_sp = memory_.get();
  waiting_.uc_stack.ss_size = kStackBytes;
  waiting_.uc_link = nullptr;
  makecontext(&waiting_, entry, 0);
#endif
}

void Stack::entered() {
#ifdef HEED_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &t_left->bottom_, &t_left->size_);
#endif
}

void Stack::go(Stack& to, [[maybe_unused]] void** keeps_for_sanitizer) {
  t_left = this;
#ifdef HEED_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(keeps_for_sanitizer, to.bottom_, to.size_);
#endif
#ifdef __x86_64__
  heed_cuda_change_stack(&waiting_, to.waiting_);
#else
  swapcontext(&waiting_, &to.waiting_);
#endif
#ifdef HEED_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(kept_, &t_left->bottom_, &t_left->size_);
#endif
}

void Stack::change_to(Stack& to) { go(to, &kept_); }

void Stack::leave_to(Stack& to) {
  go(to, nullptr);
  __builtin_unreachable();
}

}  // namespace heed::cuda::emulation
