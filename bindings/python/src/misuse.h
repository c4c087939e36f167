// What Python says of a call with wrong arguments: one line, with the names of the function and of the argument.
#pragma once

#include <pybind11/pybind11.h>

namespace heed::python {

// Has each function of the module, and each method of its classes, say it in Python's own words instead of pybind11's.
// Names that begin with one underscore are called by Python code, which names itself. A call that succeeds takes no
// longer. For when all functions are there.
void name_misuse(pybind11::module_& module);

}  // namespace heed::python
