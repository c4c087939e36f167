#include "calls.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace heed::python {
namespace {

constexpr std::chrono::milliseconds kLooksForSignals{20};

// A thread that runs one call at a time, kept for the next one: starting one takes longer than a short call.
class CallThread {
 public:
  CallThread() : thread_([this] { work(); }) { thread_.detach(); }

  void begin(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      call_ = std::move(call);
      failure_ = nullptr;
      is_done_ = false;
    }
    changed_.notify_all();
  }
  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return is_done_; });
  }
  std::exception_ptr failure() const { return failure_; }  // of a call that is done

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return call_ != nullptr; });
      const std::function<void()> call = std::exchange(call_, nullptr);
      lock.unlock();
      std::exception_ptr failure;
      try {
        call();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = failure;
      is_done_ = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> call_;
  std::exception_ptr failure_;
  bool is_done_ = true;
  std::thread thread_;
};

// Never destroyed: their threads may outlive the interpreter. Those of a parent process are not used after fork().
struct CallThreads {
  std::mutex mutex;
  std::vector<CallThread*> free;
  pid_t process = ::getpid();
};

CallThreads& call_threads() {
  static auto* const threads = new CallThreads;
  return *threads;
}

CallThread* take_thread() {
  CallThreads& threads = call_threads();
  const std::lock_guard lock(threads.mutex);
  if (threads.process != ::getpid()) {
    threads.free.clear();
    threads.process = ::getpid();
  }
  if (threads.free.empty()) {
    return new CallThread;
  }
  CallThread* const thread = threads.free.back();
  threads.free.pop_back();
  return thread;
}

void give_back(CallThread* thread) {
  CallThreads& threads = call_threads();
  const std::lock_guard lock(threads.mutex);
  threads.free.push_back(thread);
}

// The calls that are running. A thread that asks for the interpreter's lock when the interpreter has begun to end is
// ended there and then, below frames of C++ that do not allow it; so the interpreter waits for calls before it ends.
// Used with its lock.
struct RunningCalls {
  std::set<std::stop_source*> all;
  bool are_ended = false;
};

RunningCalls& running_calls() {
  static auto* const calls = new RunningCalls;
  return *calls;
}

class RunningCall {
 public:
  explicit RunningCall(std::stop_source& stop) : stop_(stop) {
    if (running_calls().are_ended) {
      throw InterruptedError("the interpreter is ending");
    }
    running_calls().all.insert(&stop_);
  }
  ~RunningCall() { running_calls().all.erase(&stop_); }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  std::stop_source& stop_;
};

void end_calls() {
  RunningCalls& calls = running_calls();
  calls.are_ended = true;
  for (std::stop_source* const stop : calls.all) {
    stop->request_stop();
  }
  while (!calls.all.empty()) {
    const py::gil_scoped_release release;
    std::this_thread::sleep_for(kLooksForSignals);
  }
}

}  // namespace

void end_calls_with_interpreter() {
  py::module_::import("atexit").attr("register")(py::cpp_function(&end_calls));
  // A child of fork() has none of its parent's threads.
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                         py::cpp_function([] { running_calls().all.clear(); }));
}

void require_going_on(const Interruption& interruption, const char* function) {
  if (interruption.stop.stop_requested()) {
    throw InterruptedError(std::string(function) + ": it was stopped");
  }
}

void run_call(const StoppableCall& call) {
  std::stop_source stop;
  const RunningCall running(stop);
  const Interruption interruption{.stop = stop.get_token()};
  CallThread* const thread = take_thread();
  bool is_interrupted = false;
  {
    const py::gil_scoped_release release;
    thread->begin([&] { call(interruption, stop); });
    while (!thread->wait(kLooksForSignals)) {
      const py::gil_scoped_acquire acquire;
      if (!is_interrupted && PyErr_CheckSignals() != 0) {
        is_interrupted = true;
        stop.request_stop();
      }
    }
  }
  const std::exception_ptr failure = thread->failure();
  give_back(thread);
  if (is_interrupted) {
    throw py::error_already_set();  // what the signal's handler raised
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace heed::python
