#include "calls.h"
#include "heed/version.h"
#include "misuse.h"
#include "parts.h"

// The Python package `heed` shows what is here under its own name.
PYBIND11_MODULE(_heed, module) {
  module.attr("__version__") = heed::version();
  heed::python::end_calls_with_interpreter();
  heed::python::add_errors(module);
  heed::python::add_translator(module);
  heed::python::add_generator(module);
  heed::python::add_encoder(module);
  heed::python::add_tokenizer(module);
  heed::python::add_inside(module);
  heed::python::add_recipes(module);
  heed::python::add_training(module);
  heed::python::add_tools(module);
  heed::python::name_misuse(module);
}
