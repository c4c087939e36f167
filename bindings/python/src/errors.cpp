#include "heed/errors.h"

#include "heed/types/interruption.h"
#include "parts.h"

namespace heed::python {

namespace py = pybind11;

namespace {

// A name of a file in the message may be no UTF-8: it is shown as Python shows such names.
void raise(const py::object& type, const std::exception& failure) {
  const auto message = py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefault(failure.what()));
  PyErr_SetObject(type.ptr(), message.ptr());
}

constexpr const char* kError = R"(What heed refuses or cannot do. Its message names the argument, file or setting.

    >>> try:
    ...     heed.Translator("nowhere")
    ... except heed.Error as error:
    ...     print(type(error).__name__)
    IoError)";

constexpr const char* kConfigError = R"(A setting that is wrong; a ValueError too.

    >>> heed.Recipe({"model": {"heads": "two"}})
    Traceback (most recent call last):
    heed.ConfigError: recipe: heads must be an integer)";

constexpr const char* kFormatError = R"(A file or a text that is not what it should be; a ValueError too.

    >>> heed.Translator("stories")
    Traceback (most recent call last):
    heed.FormatError: ...)";

constexpr const char* kTooLongError = R"(A text with more tokens than the model takes; a FormatError.

    >>> generator.generate("once " * 999)
    Traceback (most recent call last):
    heed.TooLongError: prompts[0]: ...)";

constexpr const char* kIoError = R"(What the system refuses to read or write; an OSError too.

    >>> heed.Translator("nowhere")
    Traceback (most recent call last):
    heed.IoError: ...nowhere...)";

constexpr const char* kNumericError = R"(Numbers that are no longer finite: a training that diverges.

    >>> issubclass(heed.NumericError, heed.Error)
    True)";

constexpr const char* kDeviceError = R"(A device that is missing or fails.

    >>> issubclass(heed.DeviceError, heed.Error)
    True)";

constexpr const char* kBudgetError = R"(What needs more memory or time than it was given.

    >>> issubclass(heed.BudgetError, heed.Error)
    True)";

constexpr const char* kRankError = R"(Another process of a distributed job that failed.

    >>> issubclass(heed.RankError, heed.Error)
    True)";

constexpr const char* kInterruptedError = R"(A call that was stopped before it was done.

    >>> translator.translate("ein Hund", callback=lambda line, piece: True)
    Traceback (most recent call last):
    heed.InterruptedError: ...)";

}  // namespace

// What the caller did wrong is a ValueError too, and what the system refused an OSError, so that code which knows
// nothing of heed catches them.
void add_errors(py::module_& module) {
  const auto bases = [](const py::handle& first, const py::handle& second) {
    return py::make_tuple(py::reinterpret_borrow<py::object>(first), py::reinterpret_borrow<py::object>(second));
  };
  static py::exception<Error> error(module, "Error", PyExc_RuntimeError);
  static py::exception<ConfigError> config(module, "ConfigError", bases(error, PyExc_ValueError));
  static py::exception<FormatError> format(module, "FormatError", bases(error, PyExc_ValueError));
  static py::exception<TooLongError> too_long(module, "TooLongError", format);
  static py::exception<IoError> io(module, "IoError", bases(error, PyExc_OSError));
  static py::exception<NumericError> numeric(module, "NumericError", error);
  static py::exception<DeviceError> device(module, "DeviceError", error);
  static py::exception<BudgetError> budget(module, "BudgetError", error);
  static py::exception<RankError> rank(module, "RankError", error);
  static py::exception<InterruptedError> interrupted(module, "InterruptedError", error);
  error.doc() = kError;
  config.doc() = kConfigError;
  format.doc() = kFormatError;
  too_long.doc() = kTooLongError;
  io.doc() = kIoError;
  numeric.doc() = kNumericError;
  device.doc() = kDeviceError;
  budget.doc() = kBudgetError;
  rank.doc() = kRankError;
  interrupted.doc() = kInterruptedError;
  // The last one that is registered is asked first.
  py::register_exception_translator([](std::exception_ptr failure) {
    try {
      std::rethrow_exception(std::move(failure));
    } catch (const TooLongError& one) {
      raise(too_long, one);
    } catch (const ConfigError& one) {
      raise(config, one);
    } catch (const FormatError& one) {
      raise(format, one);
    } catch (const IoError& one) {
      raise(io, one);
    } catch (const NumericError& one) {
      raise(numeric, one);
    } catch (const DeviceError& one) {
      raise(device, one);
    } catch (const BudgetError& one) {
      raise(budget, one);
    } catch (const RankError& one) {
      raise(rank, one);
    } catch (const InterruptedError& one) {
      raise(interrupted, one);
    } catch (const Error& one) {
      raise(error, one);
    }
  });
}

}  // namespace heed::python
