// Ranks that are threads of one process: for tests, and for several memory nodes of one machine.
#pragma once

#include <functional>

#include "ranks/transport.h"

namespace heed {

// Runs `body` on `count` threads, each with a transport of its own, and returns when all have ended. When one throws,
// the others' transports throw RankError; the exception that came first is thrown here.
void run_thread_ranks(int count, const std::function<void(Transport&)>& body);

}  // namespace heed
