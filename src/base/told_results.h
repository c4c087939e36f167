// The results of a call's texts, which several threads add.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "heed/types/reading/on_result.h"

namespace heed {

template <class Result>
class ToldResults {
 public:
  ToldResults(size_t texts, const OnResult<Result>& on_result) : all_(texts), on_result_(on_result) {}

  void add(size_t text, Result result) {
    all_[text] = std::move(result);
    if (on_result_) {
      const std::lock_guard lock(mutex_);
      on_result_(text, all_[text]);
    }
  }
  std::vector<Result> take() { return std::move(all_); }

 private:
  std::vector<Result> all_;
  const OnResult<Result>& on_result_;
  std::mutex mutex_;
};

}  // namespace heed
