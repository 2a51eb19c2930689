// The native half of the Python package: the reader, and nothing of Arrow, gRPC or S3.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "base/log_level.h"
#include "native/batch.h"
#include "native/cursor.h"
#include "native/errors.h"
#include "native/files.h"
#include "native/leases.h"
#include "native/mixture.h"
#include "native/pinned_pool.h"
#include "native/stream.h"
#include "native/table.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

// forebay/errors.py has the table of codes and exceptions.
void RaiseStatus(const Status& status) {
  nb::object raised =
      nb::module_::import_("forebay.errors")
          .attr("exception_for")(static_cast<int>(status.code()), status.message());
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
}

void Translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const StatusError& error) {
    RaiseStatus(error.status());
  }
}

std::map<std::string, int> StatusCodes() {
  std::map<std::string, int> codes;
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    codes.emplace(StatusCodeName(static_cast<StatusCode>(code)), code);
  }
  return codes;
}

}  // namespace
}  // namespace forebay::python

NB_MODULE(_native, m) {
  // Others hold objects of ours to the very end: fsspec's cache of file systems does, and
  // Hugging Face's streams. That is not for users to read about.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(forebay::python::Translate, nullptr);
  m.attr("__version__") = FOREBAY_VERSION;
  m.def("status_codes", &forebay::python::StatusCodes);
  m.def("check_log_level", [] { forebay::python::Check(forebay::CheckLogLevel()); });
  forebay::python::BindBatch(m);
  forebay::python::BindPinnedPool(m);
  forebay::python::BindStream(m);
  forebay::python::BindTable(m);
  forebay::python::BindFiles(m);
  forebay::python::BindCursor(m);
  forebay::python::BindMixture(m);
  forebay::python::BindLeases(m);
}
