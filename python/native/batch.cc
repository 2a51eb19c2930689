#include "native/batch.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "native/errors.h"
#include "native/numpy_arrays.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

using reader::Layout;

// Rows of the only child that a list's rows cover.
reader::Column ListItems(const reader::Column& list) {
  auto at = [&](uint64_t row) -> uint64_t {
    row += list.offset;
    if (list.type.layout == Layout::kList64) {
      return reinterpret_cast<const uint64_t*>(list.values())[row];
    }
    return reinterpret_cast<const uint32_t*>(list.values())[row];
  };
  const reader::Column& items = list.children[0];
  if (list.length == 0) return items.Slice(0, 0);
  uint64_t first = at(0), last = at(list.length);
  if (first > last || last > items.length) {
    throw StatusError(Status::Corrupt("a chunk's list offsets make no sense: column=" +
                                      list.field->name));
  }
  return items.Slice(first, last - first);
}

reader::Column ChildOf(const reader::Column& column, size_t i) {
  uint64_t width = column.type.width;
  switch (column.type.layout) {
    case Layout::kList32:
    case Layout::kList64: return ListItems(column);
    case Layout::kFixedList:
      return column.children[i].Slice(column.offset * width, column.length * width);
    default: return column.children[i].Slice(column.offset, column.length);
  }
}

// What needs no more than a look at the buffers is done here; the rest are Columns.
nb::dict ToNumpy(const Batch& batch, nb::list rest) {
  nb::dict out;
  for (const reader::Column& column : batch.inner().columns) {
    nb::str name(column.field->name.c_str(), column.field->name.size());
    if (IsPlain(column)) {
      out[name] = Values(column);
    } else if (column.type.layout == Layout::kBool && reader::CountNulls(column) == 0) {
      out[name] = Bools(column);
    } else {
      out[name] = nb::cast(Column{column, batch.inner().manifest});
      rest.append(name);
    }
  }
  return out;
}

std::vector<Column> Columns(const Batch& batch) {
  std::vector<Column> out;
  for (const reader::Column& column : batch.inner().columns) {
    out.push_back(Column{column, batch.inner().manifest});
  }
  return out;
}

nb::object BatchStreamCapsule(const Batch& batch) {
  auto next = [pending = std::optional(batch.arrow())]() mutable {
    return Result<std::optional<ArrowBatch>>(std::exchange(pending, std::nullopt));
  };
  return StreamCapsule(batch.fields(), std::move(next));
}

std::vector<std::string> Names(const Batch& batch) {
  std::vector<std::string> names;
  for (const reader::Column& column : batch.inner().columns) {
    names.push_back(column.field->name);
  }
  return names;
}

std::string Describe(const Batch& batch) {
  std::string out = fmt::format("<forebay.Batch: {} rows", batch.inner().row_count);
  for (const reader::Column& column : batch.inner().columns) {
    out += fmt::format(", {}: {}", column.field->name, model::TypeName(*column.field));
  }
  return out + ">";
}

std::map<std::string, double> Times(const Batch& batch) {
  auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  const reader::StepTimes& times = batch.inner().times;
  return {{"store", seconds(times.chunks.store)},
          {"peer", seconds(times.chunks.peer)},
          {"source", seconds(times.chunks.source)},
          {"decode", seconds(times.chunks.decode)},
          {"gather", seconds(times.gather)}};
}

void BindColumn(nb::module_& m) {
  nb::class_<Column>(m, "Column")
      .def_prop_ro("name", [](const Column& c) { return c.column.field->name; })
      .def_prop_ro("format", [](const Column& c) { return c.column.field->format; })
      .def_prop_ro("type",
                   [](const Column& c) { return model::TypeName(*c.column.field); })
      .def_prop_ro("width", [](const Column& c) { return c.column.type.width; })
      .def_prop_ro("null_count",
                   [](const Column& c) { return reader::CountNulls(c.column); })
      .def_prop_ro("child_count",
                   [](const Column& c) { return c.column.children.size(); })
      .def("__len__", [](const Column& c) { return c.column.length; })
      .def("child", &Column::Child)
      .def("is_plain", [](const Column& c) { return IsPlain(c.column); })
      .def("values", [](const Column& c) { return Values(c.column); })
      .def("bools", [](const Column& c) { return Bools(c.column); })
      .def("nulls", [](const Column& c) { return Nulls(c.column); })
      .def("texts", [](const Column& c) { return Texts(c.column); })
      .def("offsets", [](const Column& c) { return Offsets(c.column); });
}

}  // namespace

ArrowFields Batch::fields() const {
  ArrowFields out{batch_.manifest, {}};
  for (const reader::Column& column : batch_.columns) out.fields.push_back(column.field);
  return out;
}

Column Column::Child(size_t i) const {
  if (i >= column.children.size()) throw nb::index_error("no such child");
  Column child{ChildOf(column, i), manifest};
  // Only the outermost column of a private mapping knows that it is private.
  child.column.writable |= column.writable;
  return child;
}

void BindBatch(nb::module_& m) {
  BindColumn(m);
  nb::class_<Batch>(m, "Batch",
                    "Rows as Arrow data: give it to pyarrow.record_batch(), "
                    "polars.DataFrame() or any other Arrow library; nothing is copied.")
      .def_prop_ro("num_rows", [](const Batch& b) { return b.inner().row_count; })
      .def_prop_ro("num_columns", [](const Batch& b) { return b.inner().columns.size(); })
      .def_prop_ro("column_names", &Names)
      .def_prop_ro(
          "filler_rows", [](const Batch& b) { return b.inner().filler_count; },
          "Masked rows at the end, with remainder=\"pad\".")
      .def_prop_ro(
          "step", [](const Batch& b) { return b.inner().step; },
          "The step of this rank, over all its workers.")
      .def_prop_ro("times", &Times,
                   "Seconds that making it took: store, peer, source, decode, gather.")
      .def_prop_ro(
          "first_position", [](const Batch& b) { return b.inner().first_position; },
          "Of the first row, in the epoch's order.")
      .def("__len__", [](const Batch& b) { return b.inner().row_count; })
      .def("__repr__", &Describe)
      .def("__arrow_c_schema__", [](const Batch& b) { return SchemaCapsule(b.fields()); })
      .def(
          "__arrow_c_array__",
          [](const Batch& b, const nb::object&) {
            return ArrayCapsules(b.fields(), b.arrow());
          },
          nb::arg("requested_schema") = nb::none())
      .def(
          "__arrow_c_stream__",
          [](const Batch& b, const nb::object&) { return BatchStreamCapsule(b); },
          nb::arg("requested_schema") = nb::none())
      .def("_to_numpy", &ToNumpy, nb::arg("rest"))
      .def("_columns", &Columns);
}

}  // namespace forebay::python
