// Which options a command line gives: a model may have its own defaults for the others.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "command_line/command.h"

namespace heed::cli {

class GivenOptions {
 public:
  // The same options; each is noted here when it is given.
  std::vector<Option> noted(std::vector<Option> options);

  const std::set<std::string>& names() const { return names_; }

  // The model's value for an option that was not given.
  template <class Value>
  void take(const char* name, const Value& of_model, Value& value) const {
    if (!names_.contains(name)) {
      value = of_model;
    }
  }

 private:
  std::set<std::string> names_;
};

}  // namespace heed::cli
