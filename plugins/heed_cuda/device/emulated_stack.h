// Stacks that one thread of the host changes between by hand, for the threads of an emulated block.
#pragma once

#include <cstddef>
#include <memory>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace heed::cuda::emulation {

// A stack that runs, or that waits until something changes to it. One that is made is the running one's, until begin()
// gives it memory of its own.
class Stack {
 public:
  Stack() = default;
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  // The next change to this stack calls entry(), which calls entered() first and leave_to() last. What waited here is
  // forgotten.
  void begin(void (*entry)());
  static void entered();

  // Waits on this stack, which is the running one, and goes on where `to` waits.
  void change_to(Stack& to);
  [[noreturn]] void leave_to(Stack& to);

 private:
  void go(Stack& to, void** keeps_for_sanitizer);

#ifdef __x86_64__
  void* waiting_ = nullptr;  // the top of a stack that waits, where its registers lie
#else
  ucontext_t waiting_;
#endif
  std::unique_ptr<std::byte[]> memory_;
  // What the address sanitizer wants to know: where the stack lies, and what it keeps for one that waits.
  const void* bottom_ = nullptr;
  size_t size_ = 0;
  void* kept_ = nullptr;
};

}  // namespace heed::cuda::emulation
