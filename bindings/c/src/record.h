// Figures by name, and texts, as they go out.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "error.h"

struct heed_record {
  std::string kind;
  std::vector<std::pair<std::string, double>> figures = {};
  std::vector<std::string> texts = {};
};

namespace heed::c {

// What a function made, into a place of a caller who may not want it.
inline void put_made(heed_record record, heed_record** made) {
  if (made != nullptr) {
    *made = std::make_unique<heed_record>(std::move(record)).release();
  }
}

}  // namespace heed::c
