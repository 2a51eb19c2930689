// A fixture with a node no tier of which takes a chunk, and which lends memory for one at
// a time; and its table.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/size.h"
#include "reader/remote_table.h"
#include "support/scripted_node.h"
#include "support/temp_folder.h"
#include "support/types_chunk.h"

namespace forebay::testing_support {

constexpr uint32_t kRanges = 6;
constexpr uint32_t kRangeRows = 5;

inline UniqueFd MemoryFile(std::string_view bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  FB_CHECK(::write(fd.get(), bytes.data(), bytes.size()) ==
           static_cast<ssize_t>(bytes.size()));
  return fd;
}

inline std::string ManifestBytes() {
  model::Schema schema;
  schema.fields = Fields();
  model::ManifestBuilder builder(
      {.version = HashBytes("v"), .origin = "here", .schema = schema});
  uint64_t rows = kRangeRows * kRanges;
  uint32_t object = builder.AddObject({"file:///t/a", {.size = 9, .etag = "\"e\""}},
                                      {.row_count = rows});
  builder.AddUnit({.pieces = {{object, 0, 1, rows}},
                   .range_rows = std::vector<uint32_t>(kRanges, kRangeRows),
                   .wide_columns = {},
                   .context = {}});
  return builder.Finish();
}

inline model::Projection AllColumns() {
  model::Projection columns(Fields().size());
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

class LendingNodeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(std::string(FOREBAY_ROOT) + "/tests/data/chunks/types.arrow",
                     std::ios::binary);
    chunk_ = {std::istreambuf_iterator<char>(in), {}};
    chunk_fd_ = MemoryFile(chunk_);
    manifest_ = ManifestBytes();
    manifest_fd_ = MemoryFile(manifest_);
    node_ = std::make_unique<ScriptedNode>(
        folder_.path() + "/s",
        [this](const ScriptedNode::Connection& connection, const wire::Message& said) {
          Serve(connection, said);
          return true;
        });
  }
  void TearDown() override { node_.reset(); }

  std::shared_ptr<reader::RemoteTable> Open(
      milliseconds timeout = std::chrono::seconds(60),
      const std::string& uri = "file:///t") {
    reader::OpenOptions options;
    options.node.socket = folder_.path() + "/s";
    options.timeout = timeout;
    return reader::RemoteTable::Open(uri, options).ValueOrDie();
  }
  // Messages are served in order: once this is answered, all before it were.
  static void Settle(reader::RemoteTable& table) {
    ASSERT_TRUE(table.Coverage(table.ViewOf(AllColumns())).ok());
  }

  TempFolder folder_;
  std::atomic<int> lent_{0};
  std::atomic<int> refusals_left_{0};
  std::atomic<int> refused_{0};
  std::unique_ptr<ScriptedNode> node_;

 private:
  void Serve(const ScriptedNode::Connection& connection, const wire::Message& said) {
    if (std::holds_alternative<wire::Hello>(said)) {
      connection.Answer(wire::Welcome{.pid = 1, .node_version = {}, .store = {}});
    } else if (std::holds_alternative<wire::Open>(said)) {
      connection.Answer(wire::Opened{.manifest_bytes = manifest_.size(), .columns = {}},
                        {manifest_fd_.get()});
    } else if (std::holds_alternative<wire::View>(said)) {
      connection.Answer(wire::Viewed{0});
    } else if (std::holds_alternative<wire::GetCoverage>(said)) {
      connection.Answer(wire::Coverage{});
    } else if (std::holds_alternative<wire::GetRoom>(said)) {
      connection.Answer(wire::Room{.store_bytes = 0, .cluster_bytes = kGiB});
    } else if (std::holds_alternative<wire::GetGathered>(said)) {
      connection.Answer(wire::Failure{Status::NotFound("no peer gives rows")});
    } else if (auto* release = std::get_if<wire::Release>(&said)) {
      lent_ -= static_cast<int>(release->refs.size());
    } else if (auto* get = std::get_if<wire::GetChunks>(&said)) {
      Lend(connection, *get);
    }
  }
  void Lend(const ScriptedNode::Connection& connection, const wire::GetChunks& get) {
    for (model::ChunkRef ref : get.refs) {
      int none = 0;
      bool refuses = refusals_left_ > 0 && refusals_left_-- > 0;
      if (refuses || !lent_.compare_exchange_strong(none, 1)) {
        ++refused_;
        connection.Answer(wire::Failure{Status::Full("readers hold all of it")});
        return;
      }
      wire::ChunkHandle handle{.ref = ref, .size = chunk_.size(), .borrowed = true};
      connection.Answer(wire::Chunks{.view = 0, .tight = true, .chunks = {handle}},
                        {chunk_fd_.get()});
    }
  }

  std::string chunk_;
  UniqueFd chunk_fd_;
  std::string manifest_;
  UniqueFd manifest_fd_;
};

}  // namespace forebay::testing_support
