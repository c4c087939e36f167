// Ending a call before its texts are done.
#pragma once

#include <chrono>
#include <stop_token>

#include "heed/errors.h"

namespace heed {

// When either happens, the call's texts end between two steps of the model.
struct Interruption {
  std::stop_token stop;  // of a std::stop_source that the caller keeps
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// The call was stopped, or its deadline has passed.
class InterruptedError : public Error {
 public:
  using Error::Error;
};

}  // namespace heed
