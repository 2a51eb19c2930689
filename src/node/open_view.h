// What a reader has open: a projection of a table, or a tree of files. Chunks of both are
// asked for, counted and let go of in the same way.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cache/engine.h"

namespace forebay::node {

struct OpenView {
  cache::View view{};  // of a table
  std::shared_ptr<const cache::FilesVersion> files{};
  uint64_t epoch = 0;
  uint64_t position = 0;
  uint64_t position_count = 0;

  // kInvalid unless the columns of a table ascend and are there.
  Status CheckColumns() const;
  // kInvalid unless all of them are chunks of this view.
  Status Check(const std::vector<model::ChunkRef>& refs) const;
  Hash128 Key(model::ChunkRef ref) const;
  std::vector<cache::FileFills::Asked> Ask(cache::Engine& engine,
                                           const std::vector<model::ChunkRef>& refs,
                                           const cache::RequestOptions& with) const;
  cache::Coverage Covered(cache::Engine& engine) const;
  using Report = std::function<bool(const cache::WarmupProgress&)>;
  Result<cache::WarmupProgress> Warmup(cache::Engine& engine, cache::ClientId client,
                                       Deadline deadline, const Report& report) const;
  nlohmann::json Describe() const;
};

}  // namespace forebay::node
