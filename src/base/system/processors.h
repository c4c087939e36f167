// Processors, where processes share a machine.
#pragma once

namespace heed {

// available_processors() (base/system/threads.h) is at most this. At least 1.
void limit_processors(int most);

}  // namespace heed
