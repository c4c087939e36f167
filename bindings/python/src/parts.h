// The parts of the module.
#pragma once

#include <pybind11/pybind11.h>

namespace heed::python {

void add_errors(pybind11::module_& module);
void add_translator(pybind11::module_& module);
void add_generator(pybind11::module_& module);
void add_encoder(pybind11::module_& module);
void add_tokenizer(pybind11::module_& module);
void add_inside(pybind11::module_& module);
void add_recipes(pybind11::module_& module);
void add_training(pybind11::module_& module);
void add_tools(pybind11::module_& module);

}  // namespace heed::python
