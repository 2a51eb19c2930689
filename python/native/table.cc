#include "native/table.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "native/batch.h"
#include "native/blocking.h"
#include "native/open_arguments.h"
#include "native/range_stream.h"
#include "native/stream.h"
#include "reader/residency.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

using Names = std::optional<std::vector<std::string>>;
using Rows = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::shared_ptr<Table> Open(const OpenArguments& arguments) {
  auto remote = Blocking(&arguments, [&] {
    return reader::RemoteTable::Open(arguments.uri, arguments.ToOptions());
  });
  return std::make_shared<Table>(std::move(remote));
}

Batch TakeRows(const Table& table, const Rows& rows, const Names& columns) {
  Selection selection = table.Select(columns);
  auto batch = Blocking(table.remote().get(), [&] {
    return reader::Take(table.remote(), table.pool(), selection.columns,
                        std::span(rows.data(), rows.size()));
  });
  batch.columns = selection.Arrange(std::move(batch.columns));
  return Batch(std::move(batch));
}

Result<wire::WarmupState> WarmupView(const Table& table, const Selection& selection,
                                     const nb::object& progress) {
  uint32_t view = table.remote()->ViewOf(selection.columns);
  return table.remote()->Warmup(view, [&](const wire::WarmupState& state) {
    if (!progress.is_none()) WithGil([&] { progress(nb::cast(state)); });
  });
}

wire::WarmupState Warmup(const Table& table, const Names& columns,
                         const nb::object& progress) {
  Selection selection = table.Select(columns);
  return Blocking(table.remote().get(),
                  [&] { return WarmupView(table, selection, progress); });
}

wire::Coverage CoverageOf(const Table& table, const Names& columns) {
  Selection selection = table.Select(columns);
  return Blocking(table.remote().get(), [&] {
    return table.remote()->Coverage(table.remote()->ViewOf(selection.columns));
  });
}

// Bytes that all rows take in the store, at least.
uint64_t StoredBytesMin(const Table& table, const Names& columns) {
  return reader::StoredBytesMin(*table.manifest(), table.Select(columns).columns);
}

// (what the node has room for; what its cluster has, 0: not known)
std::pair<uint64_t, uint64_t> RoomFor(const Table& table, const Names& columns) {
  Selection selection = table.Select(columns);
  wire::Room room = Blocking(table.remote().get(), [&] {
    return table.remote()->Room(table.remote()->ViewOf(selection.columns));
  });
  return {room.store_bytes, room.cluster_bytes};
}

void SetGathers(const Table& table, const Names& columns) {
  Selection selection = table.Select(columns);
  Blocking(table.remote().get(), [&]() -> Result<bool> {
    table.remote()->SetGathers(table.remote()->ViewOf(selection.columns));
    return true;
  });
}

nb::object ArrowStream(const Table& table, const Names& columns) {
  Selection selection = table.Select(columns);
  ArrowFields fields = FieldsOf(selection, table.manifest());
  std::shared_ptr<RangeStream> ranges;
  {
    nb::gil_scoped_release released;
    ranges =
        std::make_shared<RangeStream>(table.remote(), table.pool(), std::move(selection));
  }
  return StreamCapsule(std::move(fields), [ranges] { return ranges->Next(); });
}

// (name, type, nullable) of each column.
std::vector<std::tuple<std::string, std::string, bool>> Describe(const Table& table,
                                                                 const Names& columns) {
  std::vector<std::tuple<std::string, std::string, bool>> out;
  for (const model::Field* field :
       FieldsOf(table.Select(columns), table.manifest()).fields) {
    out.emplace_back(field->name, model::TypeName(*field), field->nullable);
  }
  return out;
}

void BindStates(nb::module_& m) {
  nb::class_<OpenArguments>(m, "OpenArguments")
      .def(nb::init<>())
      .def_rw("uri", &OpenArguments::uri)
      .def_rw("store", &OpenArguments::store)
      .def_rw("socket", &OpenArguments::socket)
      .def_rw("source", &OpenArguments::source)
      .def_rw("timeout_ms", &OpenArguments::timeout_ms)
      .def("store_warnings", [](const OpenArguments& arguments) {
        return reader::StoreWarnings(arguments.ToOptions().node);
      });
  nb::class_<wire::WarmupState>(m, "WarmupState")
      .def_ro("rows_done", &wire::WarmupState::rows_done)
      .def_ro("row_count", &wire::WarmupState::row_count)
      .def_ro("chunks_done", &wire::WarmupState::chunks_done)
      .def_ro("chunk_count", &wire::WarmupState::chunk_count)
      .def_ro("bytes_stored", &wire::WarmupState::bytes_stored)
      .def_ro("bytes_fetched", &wire::WarmupState::bytes_fetched)
      .def_ro("evicted", &wire::WarmupState::evicted)
      .def_ro("done", &wire::WarmupState::done)
      .def_ro("failures", &wire::WarmupState::failures);
  nb::class_<wire::Coverage>(m, "Coverage")
      .def_ro("chunk_count", &wire::Coverage::chunk_count)
      .def_ro("chunks_stored", &wire::Coverage::chunks_stored)
      .def_ro("rows_stored", &wire::Coverage::rows_stored);
}

}  // namespace

void BindTable(nb::module_& m) {
  BindStates(m);
  m.def("open", &Open);
  nb::class_<Table>(m, "Table")
      .def_prop_ro("uri", [](const Table& t) { return t.remote()->uri(); })
      .def_prop_ro("version",
                   [](const Table& t) { return t.manifest()->version().ToHex(); })
      .def_prop_ro("row_count", [](const Table& t) { return t.manifest()->row_count(); })
      .def("fields", &Describe, nb::arg("columns").none())
      .def(
          "schema_capsule",
          [](const Table& t, const Names& columns) {
            return SchemaCapsule(FieldsOf(t.Select(columns), t.manifest()));
          },
          nb::arg("columns").none())
      .def("take", &TakeRows, nb::arg("rows"), nb::arg("columns").none())
      .def("stream", &Stream::Make)
      .def("arrow_stream", &ArrowStream, nb::arg("columns").none())
      .def("warmup", &Warmup, nb::arg("columns").none(), nb::arg("progress").none())
      .def("coverage", &CoverageOf, nb::arg("columns").none())
      .def("stored_bytes_min", &StoredBytesMin, nb::arg("columns").none())
      .def("room", &RoomFor, nb::arg("columns").none())
      .def("set_gathers", &SetGathers, nb::arg("columns").none())
      .def("node_pid", [](const Table& t) {
        return Blocking(t.remote().get(), [&] { return t.remote()->NodePid(); });
      });
}

}  // namespace forebay::python
