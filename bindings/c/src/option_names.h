// The table of options: numbers, names and kinds.
#pragma once

#include <cstdint>
#include <span>

#include "heed.h"

namespace heed::c {

enum class OptionKind : uint8_t { integer, real, text };
enum class OptionTimes : uint8_t { once, each };  // each: every value that was set counts

struct OptionEntry {
  heed_option option;
  const char* name;
  OptionKind kind;
  OptionTimes times = OptionTimes::once;
};

std::span<const OptionEntry> option_entries();

}  // namespace heed::c
