// A server under systemd: sockets that it hands over, and what it is told.
#pragma once

#include <string_view>
#include <vector>

namespace heed::serve {

// Sockets that listen already, by LISTEN_FDS; none where systemd has not started this process with any.
std::vector<int> sockets_of_system();

// "READY=1", "STOPPING=1", by NOTIFY_SOCKET; nothing where nobody listens there.
void tell_system(std::string_view state);

// As many open files, and so connections, as the system lets the process have.
void allow_open_files();

}  // namespace heed::serve
