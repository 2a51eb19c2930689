#include "native/mixture.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "native/blocking.h"
#include "reader/request/mask.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

plan::Order::Options OrderOf(const Table& table, const MixtureOptions& options,
                             const std::string& name) {
  plan::Order::Options order;
  order.mode = Unwrap(plan::ParseOrderMode(options.shuffle));
  order.rows = table.manifest()->row_count();
  order.seed =
      plan::SourceSeed({.seed = options.seed, .epoch = options.epoch, .name = name});
  order.window_ranges = options.window_ranges;
  if (order.mode == plan::OrderMode::kWindow) {
    order.layout = plan::RangeLayout::Of(*table.manifest());
  }
  return order;
}

reader::MixedTable MixedTableOf(const Table& table, const MixtureOptions& options,
                                const std::string& name) {
  Selection selection = table.Select(options.columns);
  return {.name = name,
          .remote = table.remote(),
          .columns = std::move(selection.columns),
          .places = std::move(selection.places),
          .order = OrderOf(table, options, name)};
}

// A job of these tables that begins anew.
plan::Cursor JobOf(const std::vector<reader::MixedTable>& tables,
                   const MixtureOptions& options) {
  plan::Cursor job;
  for (const reader::MixedTable& table : tables) {
    plan::Order order = Unwrap(plan::Order::Make(table.order));
    job.sources.push_back(
        plan::SourceCursor::Of(order, table.remote->manifest()->version()));
    job.sources.back().name = table.name;
  }
  job.mixture.emplace();
  job.mixture->seed = options.seed;
  job.mixture->epoch = options.epoch;
  job.mixture->until = Unwrap(plan::ParseUntil(options.until));
  return job;
}

plan::Mixture PlanOf(const plan::Cursor& job, const MixtureOptions& options) {
  std::vector<plan::WeightChange> changes;
  for (const auto& [from_slot, weights] : options.weights) {
    changes.push_back({from_slot, weights});
  }
  if (!options.saved.empty()) {
    plan::Cursor saved = Unwrap(plan::Cursor::FromJson(options.saved));
    Check(saved.Matches(job));
    return Unwrap(plan::Mixture::Resume(saved, std::move(changes)));
  }
  plan::Mixture::Options mixture{.weights = std::move(changes),
                                 .until = job.mixture->until};
  for (const plan::SourceCursor& source : job.sources) {
    mixture.rows.push_back(source.rows);
  }
  return Unwrap(plan::Mixture::Make(std::move(mixture)));
}

}  // namespace

std::shared_ptr<Mixture> Mixture::Make(std::vector<std::shared_ptr<Table>> tables,
                                       const MixtureOptions& options) {
  if (tables.empty() || tables.size() != options.names.size()) {
    throw StatusError(Status::Invalid("a mixture needs sources, each with a name"));
  }
  std::vector<reader::MixedTable> mixed;
  for (size_t i = 0; i < tables.size(); ++i) {
    mixed.push_back(MixedTableOf(*tables[i], options, options.names[i]));
  }
  plan::Cursor job = JobOf(mixed, options);
  auto out =
      std::shared_ptr<Mixture>(new Mixture(std::move(tables), PlanOf(job, options)));
  out->job_ = std::move(job);
  out->mixed_ = std::move(mixed);
  return out;
}

std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> Mixture::SlotsAt(
    uint64_t first, uint64_t count) const {
  std::vector<plan::MixtureSlot> slots(count);
  mixture_.SlotsAt(first, slots);
  std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> out;
  for (const plan::MixtureSlot& slot : slots) {
    out.emplace_back(slot.source, slot.epoch, slot.position);
  }
  return out;
}

std::string Mixture::CursorAt(uint64_t slot) const {
  return mixture_.CursorAt(slot, job_).ToJson();
}

std::shared_ptr<MixtureStream> Mixture::StreamOf(const StreamOptions& options) const {
  bool padded = options.remainder == "pad";
  if (padded) Check(reader::CheckMaskName(tables_.front()->manifest()->schema()));
  auto pool = options.pool != nullptr ? options.pool : tables_.front()->pool();
  reader::BatchShare share{.shards = Unwrap(ShardOptionsOf(options)),
                           .start_step = options.start_step};
  share.shards.rows =
      mixture_.slot_count().value_or(reader::MixtureStream::kEndlessSlots);
  auto make =
      [&](const reader::BatchShare& part) -> Result<std::unique_ptr<reader::Batches>> {
    FB_ASSIGN_OR_RETURN(
        auto stream,
        reader::MixtureStream::Make(
            mixture_, pool,
            {.tables = mixed_, .shards = part.shards, .start_step = part.start_step}));
    return stream;
  };
  auto flow = Blocking(this, [&] { return BatchFlow::Make(make, share, options); });
  return std::make_shared<MixtureStream>(std::move(flow), std::move(pool), padded);
}

Result<std::optional<reader::Batch>> MixtureStream::NextColumns() {
  FB_ASSIGN_OR_RETURN(auto batch, flow_->Next());
  if (batch && padded_) FB_RETURN_NOT_OK(reader::AddMask(*pool_, &*batch));
  return batch;
}

std::optional<Batch> MixtureStream::Next() {
  auto batch = Blocking(this, [&] { return NextColumns(); });
  if (!batch) return std::nullopt;
  return Batch(*std::move(batch));
}

void BindMixture(nb::module_& m) {
  nb::class_<MixtureOptions>(m, "MixtureOptions")
      .def(nb::init<>())
      .def_rw("names", &MixtureOptions::names)
      .def_rw("columns", &MixtureOptions::columns)
      .def_rw("shuffle", &MixtureOptions::shuffle)
      .def_rw("until", &MixtureOptions::until)
      .def_rw("window_ranges", &MixtureOptions::window_ranges)
      .def_rw("seed", &MixtureOptions::seed)
      .def_rw("epoch", &MixtureOptions::epoch)
      .def_rw("weights", &MixtureOptions::weights)
      .def_rw("saved", &MixtureOptions::saved);
  nb::class_<MixtureStream> stream(m, "MixtureStream");
  BindFlow(stream);
  nb::class_<Mixture>(m, "Mixture")
      .def_prop_ro("slot_count", &Mixture::slot_count)
      .def("slots_at", &Mixture::SlotsAt, nb::arg("first"), nb::arg("count"))
      .def("taken_at", &Mixture::TakenAt, nb::arg("slot"))
      .def("cursor_at", &Mixture::CursorAt, nb::arg("slot"))
      .def("stream", &Mixture::StreamOf);
  m.def("mixture", &Mixture::Make, nb::arg("tables"), nb::arg("options"));
}

}  // namespace forebay::python
