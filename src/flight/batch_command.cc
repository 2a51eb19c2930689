#include "flight/batch_command.h"

#include <fmt/format.h>

#include "flight/json_fields.h"

namespace forebay::flight {
namespace {

using nlohmann::json;

constexpr const char* kWhat = "the command";
// Members that stand for an option of the table, as in Python.
constexpr std::pair<const char*, const char*> kTextOptions[] = {
    {"filter", "forebay.filter"}, {"tag", "forebay.tag"}, {"branch", "forebay.branch"}};
constexpr std::pair<const char*, const char*> kNumberOptions[] = {
    {"snapshot", "forebay.snapshot"}, {"as_of", "forebay.as-of"}};

template <typename T>
void ReadName(JsonFields& fields, const char* name, Result<T> (*parse)(std::string_view),
              auto* out) {
  std::string text;
  fields.Text(name, &text);
  if (text.empty()) return;
  Result<T> value = parse(text);
  if (!value.ok()) return fields.Fail(value.status().message());
  *out = *value;
}

void CheckShare(JsonFields& fields, const BatchCommand& command) {
  if (command.batch_size > 0 && command.global_batch_size > 0) {
    fields.Fail(
        "give batch_size, for each rank, or global_batch_size, for all of them "
        "together, not both");
  }
  if (command.rank >= command.world_size || command.worker >= command.worker_count) {
    fields.Fail(fmt::format(
        "rank must be below world_size and worker below worker_count, "
        "not {} of {} and {} of {}",
        command.rank, command.world_size, command.worker, command.worker_count));
  }
  bool divides = command.worker_count > 1 || command.start_step > 0 || command.remainder;
  if (command.server_cuts() && divides) {
    fields.Fail(
        "worker_count, start_step and remainder count batches: give batch_size or "
        "global_batch_size with them");
  }
}

// [first, count] each, ascending, none empty.
void ReadIntervals(JsonFields& fields, std::optional<std::vector<RowInterval>>* out) {
  const json* list = fields.Take("intervals");
  if (list == nullptr) return;
  out->emplace();
  bool right = list->is_array() && list->size() <= kIntervalsMax;
  uint64_t end = 0;
  for (size_t i = 0; right && i < list->size(); ++i) {
    const json& pair = (*list)[i];
    right = pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() &&
            pair[1].is_number_unsigned();
    if (!right) break;
    RowInterval interval{pair[0].get<uint64_t>(), pair[1].get<uint64_t>()};
    right =
        interval.count > 0 && interval.first >= end && interval.end() > interval.first;
    end = interval.end();
    (*out)->push_back(interval);
  }
  if (right) return;
  fields.Fail(fmt::format(
      "intervals is a list of at most {} pairs [first row, count of rows], ascending",
      kIntervalsMax));
}

void CheckIntervals(JsonFields& fields, const BatchCommand& command) {
  if (!command.intervals) return;
  bool alone = command.server_cuts() && command.order == plan::OrderMode::kSequential &&
               command.world_size == 1 && command.start_position == 0;
  if (!alone) {
    fields.Fail(
        "intervals name the rows: they go without an order, a batch size, a world_size "
        "and a start_position");
  }
}

// A size that is named must not be 0: "no size" is said by leaving it out.
void ReadSize(JsonFields& fields, const char* name, uint64_t* out) {
  fields.Number(name, out);
  if (fields.Has(name) && *out == 0) {
    fields.Fail(fmt::format("{} must be at least 1", name));
  }
}

}  // namespace

void ReadTableName(JsonFields& fields, TableName* out) {
  fields.Text("dataset", &out->dataset);
  fields.Text("uri", &out->uri);
  if (out->dataset.empty() == out->uri.empty()) {
    fields.Fail("give either dataset, a name that this server knows, or uri, a place");
  }
  fields.TextMap("options", &out->options);
  fields.Hash("version", &out->version);
  for (const auto& [name, option] : kTextOptions) {
    std::string text;
    fields.Text(name, &text);
    if (!text.empty()) out->options[option] = text;
  }
  for (const auto& [name, option] : kNumberOptions) {
    if (!fields.Has(name)) continue;
    uint64_t number = 0;
    fields.Number(name, &number);
    out->options[option] = std::to_string(number);
  }
}

void WriteTableName(const TableName& table, json* out) {
  if (!table.dataset.empty()) (*out)["dataset"] = table.dataset;
  if (!table.uri.empty()) (*out)["uri"] = table.uri;
  if (!table.options.empty()) (*out)["options"] = table.options;
  if (table.version) (*out)["version"] = table.version->ToHex();
}

Status CheckTicketFormat(JsonFields& fields) {
  uint64_t format = kTicketFormatVersion;
  fields.Number("forebay", &format);
  if (format == kTicketFormatVersion) return Status::OK();
  return Status::Unsupported(fmt::format(
      "tickets and commands of format {} are not known here, only {}: use a client of "
      "the server's release",
      format, kTicketFormatVersion));
}

Result<BatchCommand> ReadBatchCommand(const json& object) {
  JsonFields fields(object, kWhat);
  FB_RETURN_NOT_OK(CheckTicketFormat(fields));
  BatchCommand command;
  ReadTableName(fields, &command.table);
  fields.Texts("columns", &command.columns);
  ReadName(fields, "order", plan::ParseOrderMode, &command.order);
  ReadSize(fields, "window", &command.window);
  fields.Number("seed", &command.seed);
  fields.Number("epoch", &command.epoch);
  fields.Number("rank", &command.rank);
  ReadSize(fields, "world_size", &command.world_size);
  fields.Number("worker", &command.worker);
  ReadSize(fields, "worker_count", &command.worker_count);
  ReadSize(fields, "batch_size", &command.batch_size);
  ReadSize(fields, "global_batch_size", &command.global_batch_size);
  fields.Number("start_step", &command.start_step);
  fields.Number("start_position", &command.start_position);
  ReadName(fields, "remainder", plan::ParseRemainder, &command.remainder);
  if (fields.Has("window") && command.order != plan::OrderMode::kWindow) {
    fields.Fail("window is for the order \"window\" alone");
  }
  ReadIntervals(fields, &command.intervals);
  CheckShare(fields, command);
  CheckIntervals(fields, command);
  FB_RETURN_NOT_OK(fields.Finish());
  return command;
}

Result<BatchCommand> ParseBatchCommand(std::string_view text) {
  FB_ASSIGN_OR_RETURN(json object, ParseJsonObject(text, kWhat, kCommandBytesMax));
  return ReadBatchCommand(object);
}

std::string BatchCommand::ToJson() const {
  json out;
  out["forebay"] = kTicketFormatVersion;
  WriteTableName(table, &out);
  if (columns) out["columns"] = *columns;
  if (order != plan::OrderMode::kSequential) out["order"] = plan::OrderModeName(order);
  if (order == plan::OrderMode::kWindow) out["window"] = window;
  auto put = [&](const char* name, uint64_t value, uint64_t usual) {
    if (value != usual) out[name] = value;
  };
  put("seed", seed, 0);
  put("epoch", epoch, 0);
  put("rank", rank, 0);
  put("world_size", world_size, 1);
  put("worker", worker, 0);
  put("worker_count", worker_count, 1);
  put("batch_size", batch_size, 0);
  put("global_batch_size", global_batch_size, 0);
  put("start_step", start_step, 0);
  put("start_position", start_position, 0);
  if (intervals) {
    json& list = out["intervals"] = json::array();
    for (const RowInterval& interval : *intervals) {
      list.push_back({interval.first, interval.count});
    }
  }
  if (remainder) out["remainder"] = plan::RemainderName(*remainder);
  // A name in broken UTF-8 cannot have come from JSON; whatever it is, it must not throw.
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace forebay::flight
