#include "plugins/heed_cuda/emulated_device.h"

#include <dlfcn.h>

#include <cstdlib>

namespace heed::test {
namespace {

template <class Function>
Function* emulated(const char* name) {
  const char* library = std::getenv("HEED_CUDA");
  void* const handle = library != nullptr ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : nullptr;
  return handle != nullptr ? reinterpret_cast<Function*>(dlsym(handle, name)) : nullptr;
}

}  // namespace

void set_thread_order(ThreadOrder order) {
  static auto* const function = emulated<void(int)>("heed_cuda_emulation_order");
  if (function != nullptr) {
    function(static_cast<int>(order));
  }
}

void fail_device_after(int64_t calls) {
  static auto* const function = emulated<void(int64_t)>("heed_cuda_emulation_fail_after");
  if (function != nullptr) {
    function(calls);
  }
}

}  // namespace heed::test
