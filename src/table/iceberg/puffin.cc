// The footers of Puffin files.
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "table/avro/codec.h"
#include "table/iceberg/deletion_vector.h"
#include "table/iceberg/json_object.h"

namespace forebay::table::iceberg {
namespace {

constexpr std::string_view kMagic = "PFA1";
constexpr std::string_view kDeletionVector = "deletion-vector-v1";
// Payload size, flags, magic.
constexpr size_t kTailBytes = 12;
constexpr size_t kPayloadBytesMax = size_t{64} << 20;

Status Bad(std::string_view why) {
  return Status::Corrupt(fmt::format("not a valid Puffin file: {}", why));
}

struct Footer {
  std::string_view payload;
  bool compressed = false;
  int64_t offset = 0;  // of the footer: blobs end before it
};

Result<Footer> FindFooter(std::string_view file) {
  if (file.size() < kMagic.size() * 2 + kTailBytes || !file.starts_with(kMagic) ||
      !file.ends_with(kMagic)) {
    return Bad("its magic bytes are missing");
  }
  std::string_view tail = file.substr(file.size() - kTailBytes);
  int32_t size = 0;
  uint32_t flags = 0;
  std::memcpy(&size, tail.data(), 4);
  std::memcpy(&flags, tail.data() + 4, 4);
  if ((flags & ~1U) != 0) return Bad("it has unknown flags");
  size_t room = file.size() - kTailBytes - kMagic.size() * 2;
  if (size < 0 || static_cast<size_t>(size) > room) return Bad("its footer is cut off");
  Footer footer;
  size_t offset = file.size() - kTailBytes - static_cast<size_t>(size) - kMagic.size();
  if (!file.substr(offset).starts_with(kMagic))
    return Bad("its footer has no magic bytes");
  footer.payload = file.substr(offset + kMagic.size(), static_cast<size_t>(size));
  footer.compressed = flags != 0;
  footer.offset = static_cast<int64_t>(offset);
  return footer;
}

Status ReadProperties(const JsonObject& object, PuffinBlob* blob) {
  const Json* json = object.Find("properties");
  if (json == nullptr) return Status::OK();
  FB_ASSIGN_OR_RETURN(JsonObject properties,
                      JsonObject::Of(*json, "a blob's properties"));
  if (properties.Find("referenced-data-file") != nullptr) {
    FB_ASSIGN_OR_RETURN(blob->referenced_data_file,
                        properties.Text("referenced-data-file"));
  }
  if (properties.Find("cardinality") == nullptr) return Status::OK();
  FB_ASSIGN_OR_RETURN(std::string text, properties.Text("cardinality"));
  const char* last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, blob->cardinality);
  if (error != std::errc() || end != last || blob->cardinality < 0) {
    return properties.Wrong("cardinality", "a number");
  }
  return Status::OK();
}

Result<PuffinBlob> BlobFromJson(const Json& json, int64_t blobs_end) {
  FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(json, "a Puffin blob"));
  PuffinBlob blob;
  FB_ASSIGN_OR_RETURN(blob.type, object.Text("type"));
  FB_ASSIGN_OR_RETURN(blob.offset, object.Long("offset"));
  FB_ASSIGN_OR_RETURN(blob.length, object.Long("length"));
  FB_RETURN_NOT_OK(object.Array("fields").status());
  FB_RETURN_NOT_OK(object.Long("snapshot-id").status());
  FB_RETURN_NOT_OK(object.Long("sequence-number").status());
  if (blob.offset < static_cast<int64_t>(kMagic.size()) || blob.length < 0 ||
      blob.offset > blobs_end || blob.length > blobs_end - blob.offset) {
    return Bad("a blob lies outside of the file");
  }
  if (object.Find("compression-codec") != nullptr) {
    FB_ASSIGN_OR_RETURN(blob.compression_codec, object.Text("compression-codec"));
  }
  if (blob.type == kDeletionVector && !blob.compression_codec.empty()) {
    return Bad("a deletion vector is compressed");
  }
  FB_RETURN_NOT_OK(ReadProperties(object, &blob));
  return blob;
}

}  // namespace

Result<std::vector<PuffinBlob>> ParsePuffin(std::string_view file) {
  FB_ASSIGN_OR_RETURN(Footer footer, FindFooter(file));
  auto compression =
      footer.compressed ? avro::Compression::kLz4Frame : avro::Compression::kNone;
  FB_ASSIGN_OR_RETURN(avro::Codec codec, avro::Codec::Make(compression));
  FB_ASSIGN_OR_RETURN(std::string_view payload,
                      codec.Decompress(footer.payload, kPayloadBytesMax));
  Json json = Json::parse(payload, nullptr, false);
  if (json.is_discarded()) return Bad("its footer is not JSON");
  FB_ASSIGN_OR_RETURN(JsonObject root, JsonObject::Of(json, "the Puffin footer"));
  FB_ASSIGN_OR_RETURN(const Json* items, root.Array("blobs"));
  std::vector<PuffinBlob> blobs;
  for (const Json& item : *items) {
    FB_ASSIGN_OR_RETURN(PuffinBlob blob, BlobFromJson(item, footer.offset));
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

}  // namespace forebay::table::iceberg
