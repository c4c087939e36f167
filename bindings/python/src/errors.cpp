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
