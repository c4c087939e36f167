// What tests can change on the emulated device. On a GPU these calls do nothing.
#pragma once

#include <cstdint>

namespace heed::test {

enum class ThreadOrder : uint8_t { forward, backward, shuffled };
void set_thread_order(ThreadOrder order);

// The device fails once, after that many more of its calls; below 0, never.
void fail_device_after(int64_t calls);

}  // namespace heed::test
