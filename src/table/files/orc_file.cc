// ORC: stripes are the groups.
#include <arrow/adapters/orc/adapter.h>

#include <algorithm>

#include "base/arrow_status.h"
#include "base/size.h"
#include "table/files/claimed_bytes.h"
#include "table/files/table_file.h"

namespace forebay::table {
namespace {

using arrow::adapters::orc::ORCFileReader;

constexpr int64_t kTailGuessBytes = 64 * kKiB;
// The footer gives a stripe's size but not its columns'; strings usually shrink so much.
constexpr uint64_t kUsualCompression = 3;

// A stripe is decoded at once: the way to part of one leads through its row index, whose
// reader does not survive a broken file. Stripes are made to be held in memory.
class OrcStream : public BatchStream {
 public:
  OrcStream(ORCFileReader* reader, GroupRead read)
      : reader_(reader), read_(std::move(read)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ == read_.group_count) return nullptr;
    uint32_t stripe = read_.first_group + next_++;
    if (stripe >= reader_->NumberOfStripes()) {
      return arrow::Status::SerializationError(
          "the file has fewer stripes than expected");
    }
    return reader_->ReadStripe(stripe, read_.fields);
  }

 private:
  ORCFileReader* reader_;
  const GroupRead read_;
  uint32_t next_ = 0;
};

class OrcFile : public TableFile {
 public:
  OrcFile(std::unique_ptr<ORCFileReader> reader, std::shared_ptr<arrow::Schema> schema)
      : reader_(std::move(reader)), schema_(std::move(schema)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Result<std::vector<GroupLayout>> Groups() override {
    std::vector<GroupLayout> groups;
    for (int64_t i = 0; i < reader_->NumberOfStripes(); ++i) {
      auto stripe = reader_->GetStripeInformation(i);
      if (stripe.num_rows < 0 || stripe.length < 0) {
        return arrow::Status::SerializationError(
            "the footer claims an impossible stripe");
      }
      groups.push_back(Measure(static_cast<uint64_t>(stripe.num_rows),
                               static_cast<uint64_t>(stripe.length)));
    }
    return groups;
  }

  arrow::Result<std::unique_ptr<BatchStream>> Read(const GroupRead& read) override {
    return std::make_unique<OrcStream>(reader_.get(), read);
  }

 private:
  GroupLayout Measure(uint64_t rows, uint64_t stripe_bytes) const {
    GroupLayout group{.row_count = rows, .column_bytes = {}};
    uint64_t variable = 0;
    for (const auto& field : schema_->fields()) {
      auto bits = FixedBits(*field->type());
      if (!bits) ++variable;
      group.column_bytes.push_back(bits ? ClaimedBytes(rows, *bits) : 0);
    }
    for (int i = 0; i < schema_->num_fields(); ++i) {
      if (FixedBits(*schema_->field(i)->type())) continue;
      group.column_bytes[i] = ClaimedProduct(stripe_bytes, kUsualCompression) / variable +
                              ClaimedProduct(rows, 4);
    }
    return group;
  }

  std::unique_ptr<ORCFileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

arrow::Result<std::unique_ptr<TableFile>> OpenOrc(const ObjectAccess& access,
                                                  FooterCache*) {
  auto file = std::make_shared<ObjectFile>(access);
  ARROW_RETURN_NOT_OK(ToArrow(file->PrefetchTail(kTailGuessBytes)));
  ARROW_ASSIGN_OR_RAISE(auto reader, ORCFileReader::Open(file, access.memory_pool));
  ARROW_ASSIGN_OR_RAISE(auto schema, reader->ReadSchema());
  return std::make_unique<OrcFile>(std::move(reader), std::move(schema));
}

}  // namespace forebay::table
