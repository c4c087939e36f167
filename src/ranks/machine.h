// Which ranks run on the same machine.
#pragma once

#include <string>
#include <vector>

namespace heed {

// The same for processes that see each other under /proc: one kernel, one host name, one numbering of processes. Empty
// where that is not known.
std::string machine_name();

// The ranks with the name of rank `own`, in order; none where that is empty.
std::vector<int> ranks_of_machine(const std::vector<std::string>& names, int own);

}  // namespace heed
