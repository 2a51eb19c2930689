// The batches of one worker of one rank, as Python iterates them.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "native/batch.h"
#include "native/batch_flow.h"
#include "native/stream_options.h"
#include "native/table.h"

namespace forebay::python {

class Stream {
 public:
  static std::shared_ptr<Stream> Make(const Table& table, const StreamOptions& options);

  std::optional<Batch> Next();
  BatchFlow& flow() { return *flow_; }
  ArrowFields fields() const;
  // Without Python: for consumers of an Arrow stream.
  Result<std::optional<reader::Batch>> NextColumns();

 private:
  Stream(const Table& table, const StreamOptions& options, Selection selection);

  std::shared_ptr<reader::RemoteTable> remote_;
  std::shared_ptr<reader::BufferPool> pool_;
  Selection selection_;
  bool padded_;
  std::unique_ptr<BatchFlow> flow_;
};

// What streams of a table and of a mixture have alike.
template <typename AnyStream>
void BindFlow(nanobind::class_<AnyStream>& type) {
  type.def("next", &AnyStream::Next)
      .def(
          "cancel", [](AnyStream& s) { s.flow().Cancel(); },
          "Ends the wait of a thread that is in next(), soon.")
      .def_prop_ro(
          "ready", [](AnyStream& s) { return s.flow().ready(); },
          "Whether next() would return without waiting.")
      .def_prop_ro(
          "waited", [](AnyStream& s) { return s.flow().waited(); },
          "Seconds that the last next() waited for a prefetched batch.")
      .def_prop_ro("step_count",
                   [](AnyStream& s) { return s.flow().shards().worker_step_count(); })
      .def_prop_ro("dropped_rows",
                   [](AnyStream& s) { return s.flow().shards().dropped_rows(); })
      .def_prop_ro(
          "rank_step_count", [](AnyStream& s) { return s.flow().shards().step_count(); },
          "Steps of the whole rank, from the start position on.")
      .def(
          "position_after",
          [](AnyStream& s, uint64_t steps) {
            return s.flow().shards().PositionAfter(steps);
          },
          "Rows of the epoch consumed once every rank has delivered so many steps.");
}

void BindStream(nanobind::module_& m);

}  // namespace forebay::python
