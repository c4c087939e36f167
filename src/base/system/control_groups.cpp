#include "base/system/control_groups.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace heed {
namespace {

namespace fs = std::filesystem;

enum class GroupVersion : uint8_t { first, second };

// A positive number at the beginning of a file. One that is missing or says anything else, such as "max" or -1, sets no
// limit.
double positive_in(std::istream& in) {
  double number = 0.0;
  return in >> number && number > 0.0 ? number : std::numeric_limits<double>::infinity();
}

double number_in_file(const fs::path& file) {
  std::ifstream in(file);
  return positive_in(in);
}

double memory_limit_in(const fs::path& group, GroupVersion version) {
  return number_in_file(group / (version == GroupVersion::second ? "memory.max" : "memory.limit_in_bytes"));
}

// The time that all threads together may run in a period, in periods.
double processors_in(const fs::path& group, GroupVersion version) {
  if (version == GroupVersion::second) {
    std::ifstream in(group / "cpu.max");
    const double quota = positive_in(in), period = positive_in(in);
    return std::isfinite(period) ? quota / period : quota;
  }
  const double period = number_in_file(group / "cpu.cfs_period_us");
  return std::isfinite(period) ? number_in_file(group / "cpu.cfs_quota_us") / period : period;
}

// Whether a list of names with commas between them has this one.
bool names(std::string_view list, std::string_view name) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == name) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

using LimitIn = double (*)(const fs::path& group, GroupVersion version);

// `mount` is where the groups of this version are; a container may not see the folders of those that it is in.
double smallest_limit_around(const fs::path& mount, const fs::path& group, GroupVersion version, LimitIn limit_in) {
  double smallest = limit_in(mount, version);
  for (fs::path inner = group.relative_path(); !inner.empty(); inner = inner.parent_path()) {
    smallest = std::min(smallest, limit_in(mount / inner, version));
  }
  return smallest;
}

double smallest_limit(std::string_view groups, const fs::path& root, std::string_view controller, LimitIn limit_in) {
  double smallest = std::numeric_limits<double>::infinity();
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      smallest = std::min(smallest, smallest_limit_around(root, path, GroupVersion::second, limit_in));
    } else if (names(controllers, controller)) {
      smallest = std::min(smallest, smallest_limit_around(root / controller, path, GroupVersion::first, limit_in));
    }
  }
  return smallest;
}

// The largest Number where the limit is beyond its range.
template <class Number>
Number limited(double limit) {
  constexpr Number kNone = std::numeric_limits<Number>::max();
  return limit < static_cast<double>(kNone) ? static_cast<Number>(limit) : kNone;
}

}  // namespace

std::string own_control_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream groups;
  groups << file.rdbuf();
  return groups.str();
}

int64_t memory_limit_of_groups(std::string_view groups, const fs::path& root) {
  return limited<int64_t>(smallest_limit(groups, root, "memory", memory_limit_in));
}

int processor_limit_of_groups(std::string_view groups, const fs::path& root) {
  // A quota of 1.5 processors keeps two threads busy three quarters of the time.
  return limited<int>(std::ceil(smallest_limit(groups, root, "cpu", processors_in)));
}

}  // namespace heed
