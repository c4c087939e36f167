// A JSON line for each request.
#pragma once

#include <fstream>
#include <string>

#include "serve/json/fields.h"

namespace heed::serve {

class AccessLog {
 public:
  // A file, which is added to; "-": standard output; empty: nothing is written. Opens it anew where it is open already:
  // whoever has moved the file away wants another one. IoError.
  void open(const std::string& path);
  bool is_open() const { return is_open_; }
  // Adds the time to the line.
  void write(Json line);

 private:
  bool is_open_ = false;
  std::ofstream file_;
};

}  // namespace heed::serve
