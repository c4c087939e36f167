// Calling heed from Python: without the interpreter's lock, stopped by Ctrl-C, refused after fork().
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "heed/types/interruption.h"

namespace heed::python {

namespace py = pybind11;

// Runs the call on another thread, without the interpreter's lock, while this one looks for signals: Ctrl-C stops the
// call between two steps of the model and is raised when it has ended. The call may stop itself. Throws what it throws.
using StoppableCall = std::function<void(const Interruption& interruption, std::stop_source& stop)>;
void run_call(const StoppableCall& call);

// For loops of a call: InterruptedError once it is to stop.
void require_going_on(const Interruption& interruption, const char* function);

// Has the interpreter stop what other threads still compute, and wait for it, before it ends.
void end_calls_with_interpreter();

// The first exception of callbacks, which stops the call and is raised again when it has ended. Used with the
// interpreter's lock.
class CallbackFailure {
 public:
  CallbackFailure() = default;
  CallbackFailure(const CallbackFailure&) = delete;
  CallbackFailure& operator=(const CallbackFailure&) = delete;

  // Calls it, and keeps what it raises. Returns whether the call is to go on: not after a failure, and not where the
  // callback returns something true.
  template <class Call>
  bool goes_on_after(const Call& call) {
    if (failure_ || stopped_) {
      return false;
    }
    try {
      stopped_ = py::bool_(call());
    } catch (py::error_already_set& error) {
      failure_ = std::make_unique<py::error_already_set>(std::move(error));
    }
    return !failure_ && !stopped_;
  }
  bool was_stopped() const { return stopped_; }
  void raise() {
    if (failure_) {
      throw py::error_already_set(std::move(*failure_));
    }
  }

 private:
  std::unique_ptr<py::error_already_set> failure_;
  bool stopped_ = false;
};

// One of heed's handles. It remembers its process: a child that was forked has its memory, but not its threads.
template <class Handle>
class Held {
 public:
  template <class... Arguments>
  explicit Held(std::string directory, const Arguments&... arguments)
      : process_(::getpid()), directory_(std::move(directory)) {
    const py::gil_scoped_release release;
    handle_ = std::make_unique<Handle>(directory_, arguments...);
  }

  const Handle& get() const {
    if (::getpid() != process_) {
      throw std::runtime_error(
          "this model was opened before fork(): open it in the child, or start processes with "
          "multiprocessing's method \"spawn\"");
    }
    return *handle_;
  }
  const std::string& directory() const { return directory_; }

 private:
  pid_t process_;
  std::string directory_;
  std::unique_ptr<Handle> handle_;
};

// What stands for __reduce__, with the reason.
[[noreturn]] inline void refuse_pickling(const py::object& self, const char* why) {
  throw py::type_error("cannot pickle " + std::string(py::str(py::type::of(self).attr("__name__"))) + ": " + why);
}

}  // namespace heed::python
