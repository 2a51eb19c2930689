#include "flight/peer_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "flight/bulk_socket.h"
#include "flight/json_fields.h"
#include "wire/message.h"

namespace forebay::flight {
namespace {

using nlohmann::json;

bool IsIndex(const json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() < model::kNarrowGroup;
}

bool ReadRef(const json& item, model::ChunkRef* out) {
  if (!item.is_array() || item.empty() || item.size() > 2 ||
      !std::ranges::all_of(item, IsIndex)) {
    return false;
  }
  out->range = item[0].get<uint32_t>();
  out->group = item.size() == 2 ? item[1].get<uint32_t>() : model::kNarrowGroup;
  return true;
}

void ReadRefs(JsonFields& fields, std::vector<model::ChunkRef>* out) {
  const json* refs = fields.Take("refs");
  if (refs == nullptr || !refs->is_array() || refs->empty() ||
      refs->size() > wire::kRequestRefsMax) {
    return fields.Fail(fmt::format(
        "\"refs\" of the chunks is not a list of 1 to {} chunks", wire::kRequestRefsMax));
  }
  for (const json& item : *refs) {
    model::ChunkRef ref;
    if (!ReadRef(item, &ref)) {
      return fields.Fail("a chunk is [range], or [range, column] for a wide column");
    }
    out->push_back(ref);
  }
}

void ReadProjection(JsonFields& fields, model::Projection* out) {
  const json* columns = fields.Take("columns");
  bool right =
      columns != nullptr && columns->is_array() && std::ranges::all_of(*columns, IsIndex);
  if (right) {
    for (const json& column : *columns) out->push_back(column.get<uint32_t>());
    right = std::ranges::adjacent_find(*out, std::greater_equal<>()) == out->end();
  }
  if (!right) fields.Fail("\"columns\" of the chunks is not a list of ascending numbers");
}

Result<ChunkRequest> ReadChunkRequest(const json& object) {
  JsonFields outer(object, "the ticket");
  FB_RETURN_NOT_OK(CheckTicketFormat(outer));
  const json* chunks = outer.Take("chunks");
  FB_RETURN_NOT_OK(outer.Finish());
  JsonFields fields(*chunks, "the chunks");
  ChunkRequest request;
  ReadTableName(fields, &request.table);
  if (!request.table.version) fields.Fail("the chunks lack the version they are of");
  ReadProjection(fields, &request.columns);
  ReadRefs(fields, &request.refs);
  fields.Bool("stored_only", &request.stored_only);
  FB_RETURN_NOT_OK(fields.Finish());
  return request;
}

std::string Dump(const char* kind, json body) {
  json out;
  out["forebay"] = kTicketFormatVersion;
  out[kind] = std::move(body);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string ChunkRequest::ToJson() const {
  json body;
  WriteTableName(table, &body);
  body["columns"] = columns;
  json items = json::array();
  for (const model::ChunkRef& ref : refs) {
    json item = json::array({ref.range});
    if (ref.group != model::kNarrowGroup) item.push_back(ref.group);
    items.push_back(std::move(item));
  }
  body["refs"] = std::move(items);
  if (stored_only) body["stored_only"] = true;
  return Dump("chunks", std::move(body));
}

std::string RowsRequest::ToJson() const {
  json body;
  WriteTableName(table, &body);
  if (columns) body["columns"] = *columns;
  if (as_chunk) body["as_chunk"] = true;
  return Dump("rows", std::move(body));
}

Result<RowsRequest> ParseRowsRequest(std::string_view text) {
  FB_ASSIGN_OR_RETURN(json object,
                      ParseJsonObject(text, "the descriptor", kCommandBytesMax));
  JsonFields outer(object, "the descriptor");
  FB_RETURN_NOT_OK(CheckTicketFormat(outer));
  const json* rows = outer.Take("rows");
  FB_RETURN_NOT_OK(outer.Finish());
  if (rows == nullptr) return Status::Invalid("the descriptor lacks \"rows\"");
  JsonFields fields(*rows, "the rows");
  RowsRequest request;
  ReadTableName(fields, &request.table);
  fields.Texts("columns", &request.columns);
  fields.Bool("as_chunk", &request.as_chunk);
  FB_RETURN_NOT_OK(fields.Finish());
  return request;
}

Hash128 RowsChecksum(std::string_view descriptor, std::span<const uint64_t> rows) {
  Hasher hasher;
  hasher.Update(descriptor);
  hasher.Update(rows.data(), rows.size_bytes());
  return hasher.Digest();
}

BulkRequest BulkRequest::Of(const ChunkRequest& request) {
  std::string ticket = request.ToJson();
  BulkHeader header{.kind = BulkHeader::Kind::kRequest,
                    .size = ticket.size(),
                    .checksum = HashBytes(ticket)};
  return {header.Encode() + ticket, request.refs.size()};
}

BulkRequest BulkRequest::Of(const RowsRequest& request, std::span<const uint64_t> rows) {
  std::string descriptor = request.ToJson();
  BulkHeader header{.kind = BulkHeader::Kind::kRows,
                    .size = descriptor.size() + rows.size_bytes(),
                    .index = static_cast<uint32_t>(descriptor.size()),
                    .checksum = RowsChecksum(descriptor, rows)};
  BulkRequest asked{header.Encode() + descriptor, 1};
  asked.bytes.append(reinterpret_cast<const char*>(rows.data()), rows.size_bytes());
  return asked;
}

Result<Ticket> ParseTicket(std::string_view text) {
  FB_ASSIGN_OR_RETURN(json object,
                      ParseJsonObject(text, "the ticket", kChunkTicketBytesMax));
  if (object.contains("chunks")) {
    FB_ASSIGN_OR_RETURN(ChunkRequest request, ReadChunkRequest(object));
    return Ticket(std::move(request));
  }
  if (text.size() > kCommandBytesMax) {
    return Status::Invalid(fmt::format("the ticket has {} bytes and may have {} at most",
                                       text.size(), kCommandBytesMax));
  }
  FB_ASSIGN_OR_RETURN(BatchCommand command, ReadBatchCommand(object));
  return Ticket(std::move(command));
}

}  // namespace forebay::flight
