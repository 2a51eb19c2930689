#include "native/cursor.h"

#include <nanobind/stl/string.h>

#include "plan/cursor.h"

namespace nb = nanobind;

namespace forebay::python {

std::string CursorOf(const Table& table, const StreamOptions& options) {
  plan::Order::Options order_options = Unwrap(OrderOptions(options));
  order_options.rows = table.manifest()->row_count();
  if (order_options.mode == plan::OrderMode::kWindow) {
    order_options.layout = plan::RangeLayout::Of(*table.manifest());
  }
  plan::Order order = Unwrap(plan::Order::Make(order_options));
  plan::Cursor cursor;
  cursor.sources.push_back(plan::SourceCursor::Of(order, table.manifest()->version()));
  cursor.sources.front().position = options.start_position;
  return cursor.ToJson();
}

void CheckCursor(const std::string& saved, const std::string& job) {
  plan::Cursor mine = Unwrap(plan::Cursor::FromJson(job));
  Check(Unwrap(plan::Cursor::FromJson(saved)).Matches(mine));
}

void BindCursor(nb::module_& m) {
  m.def("cursor_of", &CursorOf, nb::arg("table"), nb::arg("options"),
        "The cursor, as JSON, of a job that begins where these options say.");
  m.def("check_cursor", &CheckCursor, nb::arg("saved"), nb::arg("job"),
        "Raises where a job with the one cursor cannot go on at the other.");
}

}  // namespace forebay::python
