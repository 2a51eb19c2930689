// The lease table of a host, as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

void BindLeases(nanobind::module_& m);

}  // namespace forebay::python
