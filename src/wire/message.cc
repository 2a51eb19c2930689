#include "wire/message.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace forebay::wire {
namespace {

using Refs = std::vector<model::ChunkRef>;

void PutRefs(Encoder& out, const Refs& refs) {
  out.Put<uint32_t>(static_cast<uint32_t>(refs.size()));
  for (const model::ChunkRef& ref : refs) {
    out.Put(ref.range);
    out.Put(ref.group);
  }
}

Refs GetRefs(Decoder& in) {
  Refs refs(in.GetCount(8));
  for (model::ChunkRef& ref : refs) {
    ref.range = in.Get<uint32_t>();
    ref.group = in.Get<uint32_t>();
  }
  return refs;
}

// Each message lists its members once; a Writer and a Reader walk the same list.
struct Writer {
  Encoder& out;
  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(const T& value) {
    out.Put(value);
  }
  void operator()(const bool& value) { out.Put<uint8_t>(value ? 1 : 0); }
  void operator()(const std::string& value) { out.PutString(value); }
  void operator()(const Refs& value) { PutRefs(out, value); }
  void operator()(const Status& value) {
    out.Put<uint32_t>(static_cast<uint32_t>(value.code()));
    out.PutString(value.message());
  }
  void operator()(const std::map<std::string, std::string>& value) {
    out.Put<uint32_t>(static_cast<uint32_t>(value.size()));
    for (const auto& [key, text] : value) {
      out.PutString(key);
      out.PutString(text);
    }
  }
  void operator()(const std::vector<uint32_t>& value) {
    out.Put<uint32_t>(static_cast<uint32_t>(value.size()));
    for (uint32_t item : value) out.Put(item);
  }
  void operator()(const std::vector<uint64_t>& value) {
    out.Put<uint32_t>(static_cast<uint32_t>(value.size()));
    for (uint64_t item : value) out.Put(item);
  }
  void operator()(const std::vector<std::string>& value) {
    out.Put<uint32_t>(static_cast<uint32_t>(value.size()));
    for (const std::string& item : value) out.PutString(item);
  }
  void operator()(const std::vector<ChunkHandle>& value) {
    out.Put<uint32_t>(static_cast<uint32_t>(value.size()));
    for (const ChunkHandle& chunk : value) {
      out.Put(chunk.ref.range);
      out.Put(chunk.ref.group);
      out.Put(chunk.size);
      out.Put(chunk.times.peer_us);
      out.Put(chunk.times.source_us);
      out.Put(chunk.times.decode_us);
      out.Put<uint8_t>(chunk.borrowed ? 1 : 0);
    }
  }
};

struct Reader {
  Decoder& in;
  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(T& value) {
    value = in.Get<T>();
  }
  void operator()(bool& value) { value = in.Get<uint8_t>() != 0; }
  void operator()(std::string& value) { value = in.GetString(); }
  void operator()(Refs& value) { value = GetRefs(in); }
  void operator()(Status& value) {
    auto code = in.Get<uint32_t>();
    bool known = code > 0 && code <= static_cast<uint32_t>(StatusCode::kInternal);
    value = Status(known ? static_cast<StatusCode>(code) : StatusCode::kInternal,
                   in.GetString());
  }
  void operator()(std::map<std::string, std::string>& value) {
    for (uint32_t i = in.GetCount(8); i > 0; --i) {
      std::string key = in.GetString();
      value[key] = in.GetString();
    }
  }
  void operator()(std::vector<uint32_t>& value) {
    value.resize(in.GetCount(4));
    for (uint32_t& item : value) item = in.Get<uint32_t>();
  }
  void operator()(std::vector<uint64_t>& value) {
    value.resize(in.GetCount(8));
    for (uint64_t& item : value) item = in.Get<uint64_t>();
  }
  void operator()(std::vector<std::string>& value) {
    value.resize(in.GetCount(4));
    for (std::string& item : value) item = in.GetString();
  }
  void operator()(std::vector<ChunkHandle>& value) {
    value.resize(in.GetCount(29));
    for (ChunkHandle& chunk : value) {
      chunk.ref.range = in.Get<uint32_t>();
      chunk.ref.group = in.Get<uint32_t>();
      chunk.size = in.Get<uint64_t>();
      chunk.times.peer_us = in.Get<uint32_t>();
      chunk.times.source_us = in.Get<uint32_t>();
      chunk.times.decode_us = in.Get<uint32_t>();
      chunk.borrowed = in.Get<uint8_t>() != 0;
    }
  }
};

template <typename... T>
void Walk(auto& visit, T&... members) {
  (visit(members), ...);
}

void Members(auto& v, auto& m, Hello*) { Walk(v, m.protocol, m.pid, m.program); }
void Members(auto& v, auto& m, Welcome*) {
  Walk(v, m.protocol, m.pid, m.node_version, m.store);
}
void Members(auto& v, auto& m, Failure*) { Walk(v, m.status); }
void Members(auto& v, auto& m, Open*) {
  Walk(v, m.uri, m.options, m.timeout_ms, m.pinned_bytes);
}
void Members(auto& v, auto& m, Opened*) {
  Walk(v, m.dataset, m.manifest_bytes, m.columns);
}
void Members(auto& v, auto& m, View*) { Walk(v, m.dataset, m.columns); }
void Members(auto& v, auto& m, Viewed*) { Walk(v, m.view); }
void Members(auto& v, auto& m, GetChunks*) {
  Walk(v, m.view, m.timeout_ms, m.keeps_borrowed, m.refs);
}
void Members(auto& v, auto& m, Chunks*) { Walk(v, m.view, m.tight, m.chunks); }
void Members(auto& v, auto& m, Want*) { Walk(v, m.view, m.refs); }
void Members(auto& v, auto& m, Release*) { Walk(v, m.view, m.refs); }
void Members(auto& v, auto& m, Hold*) { Walk(v, m.view, m.chunks); }
void Members(auto& v, auto& m, Evicted*) { Walk(v, m.view, m.refs); }
void Members(auto& v, auto& m, Progress*) {
  Walk(v, m.view, m.position, m.position_count);
}
void Members(auto& v, auto& m, Follow*) {
  Walk(v, m.view, m.mode, m.seed, m.epoch, m.window_ranges, m.position);
}
void Members(auto& v, auto& m, OpenFiles*) {
  Walk(v, m.uri, m.options, m.timeout_ms, m.pinned_bytes);
}
void Members(auto& v, auto& m, FilesOpened*) { Walk(v, m.view, m.manifest_bytes); }
void Members(auto& v, auto& m, Warmup*) { Walk(v, m.view, m.timeout_ms); }
void Members(auto& v, auto& m, WarmupState*) {
  Walk(v, m.rows_done, m.row_count, m.chunks_done, m.chunk_count, m.bytes_stored,
       m.bytes_fetched, m.evicted, m.done, m.failures);
}
void Members(auto& v, auto& m, GetCoverage*) { Walk(v, m.view); }
void Members(auto& v, auto& m, Coverage*) {
  Walk(v, m.chunk_count, m.chunks_stored, m.rows_stored);
}
void Members(auto&, auto&, GetStatus*) {}
void Members(auto& v, auto& m, Text*) { Walk(v, m.size); }
void Members(auto& v, auto& m, Gather*) { Walk(v, m.view, m.ticket, m.row_count); }
void Members(auto& v, auto& m, GetGathered*) { Walk(v, m.ticket, m.timeout_ms); }
void Members(auto& v, auto& m, Gathered*) { Walk(v, m.ticket, m.part_count, m.sizes); }
void Members(auto& v, auto& m, DropGathered*) { Walk(v, m.tickets); }
void Members(auto& v, auto& m, GetRoom*) { Walk(v, m.view); }
void Members(auto& v, auto& m, Room*) { Walk(v, m.store_bytes, m.cluster_bytes); }

template <size_t kIndex = 0>
Status DecodeAs(uint16_t type, Decoder& in, Message* out) {
  if constexpr (kIndex < std::variant_size_v<Message>) {
    if (type != kIndex) return DecodeAs<kIndex + 1>(type, in, out);
    using T = std::variant_alternative_t<kIndex, Message>;
    T message;
    Reader reader{in};
    Members(reader, message, static_cast<T*>(nullptr));
    *out = std::move(message);
    return in.Finish("the message");
  }
  return Status::Corrupt(fmt::format("unknown message type {}", type));
}

}  // namespace

std::string Encode(const Envelope& envelope) {
  Encoder out;
  out.Put<uint16_t>(static_cast<uint16_t>(envelope.message.index()));
  out.Put(envelope.request);
  Writer writer{out};
  std::visit(
      [&](const auto& message) {
        using T = std::decay_t<decltype(message)>;
        Members(writer, message, static_cast<T*>(nullptr));
      },
      envelope.message);
  return out.Take();
}

Result<Envelope> Decode(std::string_view bytes) {
  Decoder in(bytes);
  auto type = in.Get<uint16_t>();
  Envelope envelope;
  envelope.request = in.Get<uint64_t>();
  if (!in.ok()) return Status::Corrupt("the message is malformed");
  FB_RETURN_NOT_OK(DecodeAs(type, in, &envelope.message));
  return envelope;
}

}  // namespace forebay::wire
