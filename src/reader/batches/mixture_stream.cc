#include "reader/batches/mixture_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reader/batches/pass_gather.h"

namespace forebay::reader {
namespace {

constexpr uint32_t kNoPart = UINT32_MAX;
constexpr uint64_t kProgressSteps = 64;

// Whether chunks of both can be gathered into one column. What may be null does not
// matter, nor what a list calls its items.
bool SameType(const model::Field& a, const model::Field& b) {
  if (a.format != b.format || a.children.size() != b.children.size()) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    bool named = a.format == "+s" && a.children[i].name != b.children[i].name;
    if (named || !SameType(a.children[i], b.children[i])) return false;
  }
  return true;
}

void AllowNullsOf(const model::Field& other, model::Field* field) {
  field->nullable |= other.nullable;
  for (size_t i = 0; i < field->children.size(); ++i) {
    AllowNullsOf(other.children[i], &field->children[i]);
  }
}

const model::Field& FieldOf(const MixedTable& table, size_t column) {
  return table.remote->manifest()->schema().fields[table.columns[table.places[column]]];
}

Result<model::Field> CommonField(const std::vector<MixedTable>& tables, size_t column) {
  model::Field field = FieldOf(tables.front(), column);
  for (const MixedTable& table : tables) {
    const model::Field& other = FieldOf(table, column);
    if (!SameType(field, other)) {
      return Status::Invalid(fmt::format(
          "column '{}' is {} in '{}' and {} in '{}': a mixture needs the same type in "
          "all "
          "its sources; leave the column out with columns=[…], or change its type",
          field.name, model::TypeName(field), tables.front().name, model::TypeName(other),
          table.name));
    }
    AllowNullsOf(other, &field);
  }
  return field;
}

}  // namespace

// Fields of the batches. They outlive the stream with any batch.
struct MixtureStream::Fields {
  std::shared_ptr<const model::Manifest> manifest;
  std::vector<model::Field> fields;
};

// One table: where its rows are, and which of its chunks are at hand.
class MixtureStream::Source {
 public:
  explicit Source(MixedTable table)
      : table_(std::move(table.remote), std::move(table.columns)),
        places_(std::move(table.places)),
        options_(std::move(table.order)),
        locator_(table_.manifest()),
        part_of_range_(table_.manifest().ranges().size() + 2, kNoPart) {
    options_.rows = table_.manifest().row_count();
    if (options_.mode == plan::OrderMode::kWindow) {
      options_.layout = plan::RangeLayout::Of(table_.manifest());
    }
  }

  ChunkTable& table() { return table_; }
  uint32_t& PartOf(uint32_t range) { return part_of_range_[range]; }
  const ChunkColumn* Chunk(size_t column, uint32_t range) const {
    if (range == gathered_source()) return &gathered_sources_[column];
    return table_.Sources(places_[column])[range];
  }

  // Where the rows lie that follow the first `taken`, with their chunks at hand, or where
  // those are too many at once, with the rows gathered.
  Status Bring(uint64_t taken, uint64_t count,
               std::span<const ColumnGatherer> gatherers) {
    gathered_.clear();
    table_.DropEvicted();
    rows_.resize(count);
    std::vector<uint32_t> windows;
    for (uint64_t done = 0; done < count;) {
      uint64_t position = (taken + done) % options_.rows;
      uint64_t part = std::min(count - done, options_.rows - position);
      FB_RETURN_NOT_OK(GoTo((taken + done) / options_.rows, position));
      order_->RowsAt(position, std::span(rows_).subspan(done, part));
      AddWindows(position, position + part, &windows);
      done += part;
    }
    addresses_.resize(count);
    locator_.Locate(rows_, addresses_);
    next_ = 0;
    Status brought = BringChunks(std::move(windows));
    return brought.code() == StatusCode::kFull ? GatherInPasses(gatherers) : brought;
  }
  RowAddress NextAddress() { return addresses_[next_++]; }

  // Tells the node how far this is.
  void Report(uint64_t taken) {
    if (options_.rows == 0) return;
    table_.remote()->ReportProgress(table_.view(), taken % options_.rows, options_.rows);
  }

 private:
  Status GoTo(uint64_t epoch, uint64_t position) {
    if (order_ && options_.epoch == epoch) return Status::OK();
    options_.epoch = epoch;
    FB_ASSIGN_OR_RETURN(plan::Order order, plan::Order::Make(options_));
    order_.emplace(std::move(order));
    table_.remote()->Follow(table_.view(), options_, position);
    return Status::OK();
  }

  // The ranges of all windows that the positions lie in; `window` orders only.
  void AddWindows(uint64_t first, uint64_t last, std::vector<uint32_t>* ranges) const {
    const plan::WindowOrder* order = order_->window();
    if (order == nullptr) return;
    for (uint64_t w = order->WindowOf(first); w <= order->WindowOf(last - 1); ++w) {
      auto of_window = order->RangesOf(w);
      ranges->insert(ranges->end(), of_window.begin(), of_window.end());
    }
  }

  // Memory is bounded by the windows of a batch, or, where the node is short of it, by
  // the ranges of a batch.
  Status BringChunks(std::vector<uint32_t> windows) {
    std::vector<uint32_t> ranges;
    ranges.reserve(addresses_.size());
    for (const RowAddress& address : addresses_) ranges.push_back(address.source);
    std::ranges::sort(ranges);
    ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
    if (!windows.empty()) {
      std::ranges::sort(windows);
      table_.KeepOnly(windows);
    } else if (table_.remote()->tight()) {
      table_.KeepOnly(ranges);
      table_.remote()->ForgetUnused(table_.view());
    }
    return table_.Ensure(ranges);
  }

  // Takes the place of a range, after the filler's.
  uint32_t gathered_source() const { return table_.filler_source() + 1; }

  Status GatherInPasses(std::span<const ColumnGatherer> gatherers) {
    PassGather passes({.table = &table_, .gatherers = gatherers, .places = places_});
    FB_ASSIGN_OR_RETURN(gathered_, passes.Gather(addresses_));
    gathered_sources_.clear();
    for (const Column& column : gathered_) gathered_sources_.push_back(AsSource(column));
    for (uint32_t i = 0; i < addresses_.size(); ++i) {
      addresses_[i] = {gathered_source(), i};
    }
    return Status::OK();
  }

  ChunkTable table_;
  std::vector<uint32_t> places_;
  std::vector<Column> gathered_;
  std::vector<ChunkColumn> gathered_sources_;
  plan::Order::Options options_;
  std::optional<plan::Order> order_;
  RowLocator locator_;
  std::vector<uint32_t> part_of_range_;  // and of the filler, and of gathered rows
  std::vector<uint64_t> rows_;
  std::vector<RowAddress> addresses_;
  size_t next_ = 0;
};

MixtureStream::MixtureStream(plan::Mixture mixture, plan::Shards shards,
                             uint64_t start_step)
    : mixture_(std::move(mixture)), shards_(std::move(shards)), next_(start_step) {}

MixtureStream::~MixtureStream() = default;

Result<std::unique_ptr<MixtureStream>> MixtureStream::Make(
    plan::Mixture mixture, std::shared_ptr<BufferPool> pool,
    MixtureStreamOptions options) {
  options.shards.rows = mixture.slot_count().value_or(kEndlessSlots);
  FB_ASSIGN_OR_RETURN(plan::Shards shards, plan::Shards::Make(options.shards));
  auto stream = std::unique_ptr<MixtureStream>(
      new MixtureStream(std::move(mixture), std::move(shards), options.start_step));
  FB_RETURN_NOT_OK(stream->MakeGatherers(options, std::move(pool)));
  for (MixedTable& table : options.tables) {
    stream->sources_.push_back(std::make_unique<Source>(std::move(table)));
  }
  return stream;
}

Status MixtureStream::MakeGatherers(const MixtureStreamOptions& options,
                                    std::shared_ptr<BufferPool> pool) {
  const MixedTable& first = options.tables.front();
  auto fields = std::make_shared<Fields>();
  fields->manifest = first.remote->manifest();
  for (size_t i = 0; i < first.places.size(); ++i) {
    FB_ASSIGN_OR_RETURN(model::Field field, CommonField(options.tables, i));
    fields->fields.push_back(std::move(field));
  }
  for (const model::Field& field : fields->fields) {
    FB_ASSIGN_OR_RETURN(auto gatherer,
                        ColumnGatherer::Make(field, pool, first.remote->copy_helper()));
    gatherers_.push_back(std::move(gatherer));
  }
  fields_ = std::move(fields);
  return Status::OK();
}

Result<std::optional<Batch>> MixtureStream::Next() {
  if (next_ >= shards_.worker_step_count()) return std::optional<Batch>();
  uint64_t step = shards_.WorkerStep(next_);
  plan::StepSlice slice = shards_.At(step);
  auto start = std::chrono::steady_clock::now();
  Batch batch;
  FB_ASSIGN_OR_RETURN(batch.columns, Gather(slice));
  batch.times = TakeTimes(start);
  batch.row_count = slice.count + slice.filler;
  batch.filler_count = slice.filler;
  batch.step = step;
  batch.first_position = slice.first;
  batch.manifest = {fields_, fields_->manifest.get()};
  ++next_;
  return std::optional<Batch>(std::move(batch));
}

Result<std::vector<Column>> MixtureStream::Gather(const plan::StepSlice& slice) {
  Status located = Locate(slice);
  for (const Part& part : parts_) sources_[part.source]->PartOf(part.range) = kNoPart;
  FB_RETURN_NOT_OK(located);
  std::vector<Column> columns;
  std::vector<const ChunkColumn*> chunks(parts_.size());
  for (size_t i = 0; i < gatherers_.size(); ++i) {
    for (size_t p = 0; p < parts_.size(); ++p) {
      chunks[p] = sources_[parts_[p].source]->Chunk(i, parts_[p].range);
    }
    FB_ASSIGN_OR_RETURN(Column column, gatherers_[i].Gather(chunks, addresses_));
    columns.push_back(std::move(column));
  }
  return columns;
}

Status MixtureStream::Locate(const plan::StepSlice& slice) {
  slots_.resize(slice.count);
  mixture_.SlotsAt(slice.first, slots_);
  std::vector<uint64_t> counts(sources_.size());
  for (const plan::MixtureSlot& slot : slots_) ++counts[slot.source];
  std::vector<uint64_t> taken = mixture_.TakenAt(slice.first);
  parts_.clear();
  addresses_.clear();
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (counts[i] > 0) {
      FB_RETURN_NOT_OK(sources_[i]->Bring(taken[i], counts[i], gatherers_));
    }
    if (next_ % kProgressSteps == 0) sources_[i]->Report(taken[i]);
  }
  for (const plan::MixtureSlot& slot : slots_) {
    addresses_.push_back(InParts(slot.source, sources_[slot.source]->NextAddress()));
  }
  if (slice.filler == 0) return Status::OK();
  ChunkTable& table = sources_.front()->table();
  addresses_.resize(addresses_.size() + slice.filler,
                    InParts(0, {table.filler_source(), 0}));
  return table.MakeFillers();
}

RowAddress MixtureStream::InParts(uint32_t source, RowAddress address) {
  uint32_t& part = sources_[source]->PartOf(address.source);
  if (part == kNoPart) {
    part = static_cast<uint32_t>(parts_.size());
    parts_.push_back({source, address.source});
  }
  return {part, address.row};
}

StepTimes MixtureStream::TakeTimes(std::chrono::steady_clock::time_point start) {
  StepTimes times;
  times.gather = std::chrono::steady_clock::now() - start;
  for (const auto& source : sources_) {
    times.chunks += source->table().TakeTimes();
  }
  times.gather -= times.chunks.total();
  return times;
}

}  // namespace forebay::reader
