// What the library throws. what() is one line: where, what was expected, what was found.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace heed {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The caller asks for something impossible.
class ConfigError : public Error {
 public:
  using Error::Error;
};

// An option has a value that it cannot have: "search: beam is 0, expected 1 to 1024".
class OptionError : public ConfigError {
 public:
  OptionError(const std::string& where, std::string option, std::string problem)
      : ConfigError(where + ": " + option + " " + problem), option_(std::move(option)), problem_(std::move(problem)) {}

  const std::string& option() const { return option_; }    // "beam"
  const std::string& problem() const { return problem_; }  // "is 0, expected 1 to 1024"

 private:
  std::string option_, problem_;
};

// A file or a text from outside does not hold what its format promises.
class FormatError : public Error {
 public:
  using Error::Error;
};

// A text has more tokens than a model takes.
class TooLongError : public FormatError {
 public:
  using FormatError::FormatError;
};

// The operating system refused.
class IoError : public Error {
 public:
  using Error::Error;
};

// It has no memory for this, or none within the limits of the process.
class MemoryError : public IoError {
 public:
  using IoError::IoError;
};

// A computation produced an infinity or NaN.
class NumericError : public Error {
 public:
  using Error::Error;
};

// A device other than the processor failed, or ran out of memory.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// A budget set by the caller is used up.
class BudgetError : public Error {
 public:
  using Error::Error;
};

// Another rank of the job failed, or does not answer; the message begins with its number.
class RankError : public Error {
 public:
  using Error::Error;
};

// Two operands do not fit together. From a function of <heed/...> it is a bug in heed, unless the function says
// otherwise.
class ShapeError : public Error {
 public:
  using Error::Error;
};

// One of heed's own invariants is broken: a bug in heed.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace heed
