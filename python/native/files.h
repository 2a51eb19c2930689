// A tree of files as Python holds it: a version behind this host's node.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

void BindFiles(nanobind::module_& m);

}  // namespace forebay::python
