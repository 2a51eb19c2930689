// Batches of several tables mixed (plan/mixture.h) for one worker of one rank, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/mixture.h"
#include "plan/order.h"
#include "plan/sharding.h"
#include "reader/batches/batches.h"
#include "reader/chunk_table.h"
#include "reader/gather.h"
#include "reader/row_address.h"

namespace forebay::reader {

// One source of a mixture. All have the same columns, perhaps at other places.
struct MixedTable {
  std::string name{};
  std::shared_ptr<RemoteTable> remote{};
  model::Projection columns{};
  std::vector<uint32_t> places{};  // in `columns`, of each column of a batch
  plan::Order::Options order{};    // of its first epoch; rows and ranges are the table's
};

struct MixtureStreamOptions {
  std::vector<MixedTable> tables{};
  plan::ShardOptions shards{};  // of the mixture's slots
  uint64_t start_step = 0;      // steps of this worker to leave out
};

class MixtureStream : public Batches {
 public:
  // Slots that a mixture without an end is taken to have.
  static constexpr uint64_t kEndlessSlots = uint64_t{1} << 60;

  // kInvalid where a column has different types, naming it.
  static Result<std::unique_ptr<MixtureStream>> Make(plan::Mixture mixture,
                                                     std::shared_ptr<BufferPool> pool,
                                                     MixtureStreamOptions options);
  ~MixtureStream() override;

  Result<std::optional<Batch>> Next() override;
  const plan::Shards& shards() const { return shards_; }

 private:
  class Source;
  struct Fields;
  struct Part {  // a range that a batch has rows of
    uint32_t source = 0;
    uint32_t range = 0;
  };

  MixtureStream(plan::Mixture mixture, plan::Shards shards, uint64_t start_step);
  Status MakeGatherers(const MixtureStreamOptions& options,
                       std::shared_ptr<BufferPool> pool);
  Result<std::vector<Column>> Gather(const plan::StepSlice& slice);
  // Fills addresses_ and parts_; brings the chunks.
  Status Locate(const plan::StepSlice& slice);
  RowAddress InParts(uint32_t source, RowAddress address);
  StepTimes TakeTimes(std::chrono::steady_clock::time_point start);

  plan::Mixture mixture_;
  plan::Shards shards_;
  uint64_t next_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::shared_ptr<const Fields> fields_;
  std::vector<ColumnGatherer> gatherers_;
  // Of the batch in the making.
  std::vector<plan::MixtureSlot> slots_;
  std::vector<Part> parts_;
  std::vector<RowAddress> addresses_;  // sources are places in parts_
};

}  // namespace forebay::reader
