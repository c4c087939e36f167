#include "serve/work/access_log.h"

#include <array>
#include <chrono>
#include <ctime>
#include <iostream>

#include "base/errors.h"

namespace heed::serve {
namespace {

std::string utc_time() {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), length};
}

}  // namespace

void AccessLog::open(const std::string& path) {
  file_.close();
  file_.clear();
  is_open_ = !path.empty();
  if (is_open_ && path != "-") {
    file_.open(path, std::ios::app);
    require<IoError>(file_.is_open(), path, "cannot be opened for writing");
  }
}

void AccessLog::write(Json line) {
  if (is_open_) {
    line["time"] = utc_time();
    std::ostream& out = file_.is_open() ? static_cast<std::ostream&>(file_) : std::cout;
    out << line.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
    out.clear();  // a full disk may have room again later
  }
}

}  // namespace heed::serve
