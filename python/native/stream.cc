#include "native/stream.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "native/blocking.h"
#include "reader/batches/batch_stream.h"
#include "reader/request/mask.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

Result<reader::BatchOptions> ReaderOptions(const StreamOptions& options,
                                           const Selection& selection) {
  reader::BatchOptions out;
  out.columns = selection.columns;
  out.writable = options.writable;
  FB_ASSIGN_OR_RETURN(out.order, OrderOptions(options));
  return out;
}

}  // namespace

Result<plan::Order::Options> OrderOptions(const StreamOptions& options) {
  plan::Order::Options out;
  FB_ASSIGN_OR_RETURN(out.mode, plan::ParseOrderMode(options.shuffle));
  out.seed = options.seed;
  out.epoch = options.epoch;
  out.window_ranges = options.window_ranges;
  return out;
}

Result<plan::ShardOptions> ShardOptionsOf(const StreamOptions& options) {
  plan::ShardOptions out;
  FB_ASSIGN_OR_RETURN(out.remainder, plan::ParseRemainder(options.remainder));
  out.batch_size = options.batch_size;
  out.global_batch_size = options.global_batch_size;
  out.world_size = options.world_size;
  out.rank = options.rank;
  out.worker_count = options.worker_count;
  out.worker = options.worker;
  out.start_position = options.start_position;
  return out;
}

Stream::Stream(const Table& table, const StreamOptions& options, Selection selection)
    : remote_(table.remote()),
      pool_(options.pool != nullptr ? options.pool : table.pool()),
      selection_(std::move(selection)),
      padded_(options.remainder == "pad") {}

std::shared_ptr<Stream> Stream::Make(const Table& table, const StreamOptions& options) {
  Selection selection = table.Select(options.columns);
  auto batch = Unwrap(ReaderOptions(options, selection));
  if (options.remainder == "pad")
    Check(reader::CheckMaskName(table.manifest()->schema()));
  auto stream = std::shared_ptr<Stream>(new Stream(table, options, std::move(selection)));
  reader::BatchShare share{.shards = Unwrap(ShardOptionsOf(options)),
                           .start_step = options.start_step};
  share.shards.rows =
      options.end_position > 0 ? options.end_position : table.manifest()->row_count();
  auto make = reader::BatchStream::Maker(stream->remote_, stream->pool_, batch);
  stream->flow_ = Blocking(stream->remote_.get(),
                           [&] { return BatchFlow::Make(make, share, options); });
  return stream;
}

ArrowFields Stream::fields() const {
  ArrowFields out = FieldsOf(selection_, remote_->manifest());
  if (padded_) out.fields.push_back(&reader::MaskField());
  return out;
}

Result<std::optional<reader::Batch>> Stream::NextColumns() {
  FB_ASSIGN_OR_RETURN(auto batch, flow_->Next());
  if (!batch) return batch;
  batch->columns = selection_.Arrange(std::move(batch->columns));
  if (padded_) FB_RETURN_NOT_OK(reader::AddMask(*pool_, &*batch));
  return batch;
}

std::optional<Batch> Stream::Next() {
  auto batch = Blocking(remote_.get(), [&] { return NextColumns(); });
  if (!batch) return std::nullopt;
  return Batch(*std::move(batch));
}

namespace {

nb::object ArrowStream(const std::shared_ptr<Stream>& stream) {
  auto next = [stream]() -> Result<std::optional<ArrowBatch>> {
    FB_ASSIGN_OR_RETURN(auto batch, stream->NextColumns());
    if (!batch) return std::optional<ArrowBatch>();
    return std::optional(ArrowBatch{std::move(batch->columns), batch->row_count});
  };
  return StreamCapsule(stream->fields(), next);
}

}  // namespace

void BindStream(nb::module_& m) {
  nb::class_<StreamOptions>(m, "StreamOptions")
      .def(nb::init<>())
      .def_rw("columns", &StreamOptions::columns, nb::arg().none())
      .def_rw("shuffle", &StreamOptions::shuffle)
      .def_rw("remainder", &StreamOptions::remainder)
      .def_rw("seed", &StreamOptions::seed)
      .def_rw("epoch", &StreamOptions::epoch)
      .def_rw("batch_size", &StreamOptions::batch_size)
      .def_rw("global_batch_size", &StreamOptions::global_batch_size)
      .def_rw("world_size", &StreamOptions::world_size)
      .def_rw("rank", &StreamOptions::rank)
      .def_rw("worker_count", &StreamOptions::worker_count)
      .def_rw("worker", &StreamOptions::worker)
      .def_rw("start_step", &StreamOptions::start_step)
      .def_rw("start_position", &StreamOptions::start_position)
      .def_rw("end_position", &StreamOptions::end_position)
      .def_rw("window_ranges", &StreamOptions::window_ranges)
      .def_rw("writable", &StreamOptions::writable)
      .def_rw("threads", &StreamOptions::threads)
      .def_rw("ahead", &StreamOptions::ahead)
      .def_rw("pool", &StreamOptions::pool, nb::arg().none());
  nb::class_<Stream> stream(m, "Stream");
  BindFlow(stream);
  stream.def("arrow_stream", &ArrowStream);
}

}  // namespace forebay::python
