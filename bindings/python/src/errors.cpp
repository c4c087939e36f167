#include "heed/errors.h"

#include "heed/types/interruption.h"
#include "parts.h"

namespace heed::python {

namespace py = pybind11;

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
      too_long(one.what());
    } catch (const ConfigError& one) {
      config(one.what());
    } catch (const FormatError& one) {
      format(one.what());
    } catch (const IoError& one) {
      io(one.what());
    } catch (const NumericError& one) {
      numeric(one.what());
    } catch (const DeviceError& one) {
      device(one.what());
    } catch (const BudgetError& one) {
      budget(one.what());
    } catch (const RankError& one) {
      rank(one.what());
    } catch (const InterruptedError& one) {
      interrupted(one.what());
    } catch (const Error& one) {
      error(one.what());
    }
  });
}

}  // namespace heed::python
