// Columns as numpy arrays: the only file pair that speaks numpy's C API, which is loaded
// on first use.
#pragma once

#include <nanobind/nanobind.h>

#include "reader/column.h"

namespace forebay::python {

// True when Values() says all there is to say: fixed width, a type that numpy has too, no
// nulls.
bool IsPlain(const reader::Column& column);

// Fixed-width values where they lie; the memory under nulls is undefined. Types that
// numpy does not know come as void of the same width. Writable where nobody else sees
// them.
nanobind::object Values(const reader::Column& column);
// Bits as an array of bool.
nanobind::object Bools(const reader::Column& column);
// True where the column is null.
nanobind::object Nulls(const reader::Column& column);
// str, or bytes for binary columns, in an array of objects; None for nulls.
nanobind::object Texts(const reader::Column& column);
// The rows' boundaries in Child(0) of a list or map: one more than rows, from 0.
nanobind::object Offsets(const reader::Column& column);

}  // namespace forebay::python
