// Cursors as JSON text: what Python keeps as a plain dict in a checkpoint.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "native/stream.h"

namespace forebay::python {

// Where a stream with these options begins: their epoch and start_position.
std::string CursorOf(const Table& table, const StreamOptions& options);

// Fails with the sentence that says what differs when a job cannot go on at a cursor.
void CheckCursor(const std::string& saved, const std::string& job);

void BindCursor(nanobind::module_& m);

}  // namespace forebay::python
