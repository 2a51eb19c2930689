#include "table/dataset/folder_dataset.h"

#include <fmt/format.h>

#include <optional>

#include "base/bytes.h"
#include "source/identity.h"
#include "table/dataset/set_live_rows.h"
#include "table/filter/bind.h"
#include "table/filter/parse.h"
#include "table/listing.h"
#include "table/live/live_rows_of.h"

namespace forebay::table {
namespace {

class FolderDataset : public Dataset {
 public:
  FolderDataset(std::shared_ptr<source::Source> source, Listing listing,
                std::optional<filter::Filter> filter)
      : source_(std::move(source)),
        listing_(std::move(listing)),
        filter_(std::move(filter)) {
    if (!filter_) return;
    Encoder out;
    out.PutString("filtered table 1");
    out.Put(listing_.version.high);
    out.Put(listing_.version.low);
    out.PutString(filter_->text);
    listing_.version = HashBytes(out.bytes());
  }

  const Hash128& version() const override { return listing_.version; }
  std::shared_ptr<source::Source> source() const override { return source_; }

  Result<std::string> Plan(const PlanOptions& options,
                           const LayoutShelf& /*shelf*/) const override {
    FB_ASSIGN_OR_RETURN(TablePlan plan, InspectTable(source_, listing_, options));
    if (filter_) FB_RETURN_NOT_OK(Select(options, &plan));
    return BuildManifest(plan, CutsOf(options));
  }

 private:
  // Finds the rows that the filter keeps.
  Status Select(const PlanOptions& options, TablePlan* plan) const {
    FB_ASSIGN_OR_RETURN(auto bound, filter::Bind(*filter_, plan->schema));
    if (bound.always_true()) return Status::OK();
    FB_ASSIGN_OR_RETURN(auto resolver,
                        live::LiveRowsResolver::Make({.source = source_,
                                                      .schema = plan->schema,
                                                      .filter = &bound,
                                                      .pool = options.pool,
                                                      .memory_pool = options.memory_pool,
                                                      .budget = options.budget,
                                                      .footers = options.footers,
                                                      .deadline = options.deadline}));
    return SetLiveRows(*resolver, options, plan);
  }

  std::shared_ptr<source::Source> source_;
  Listing listing_;
  std::optional<filter::Filter> filter_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> PinFolder(const DatasetRequest& request,
                                           const TableOptions& options,
                                           std::shared_ptr<source::Source> source) {
  if (std::string choice = options.ChoiceText(); !choice.empty()) {
    return Status::Invalid(
        fmt::format("{} was asked for, but {} is not an Iceberg table and has no history",
                    choice, request.uri));
  }
  std::optional<filter::Filter> filter;
  if (!options.filter.empty()) {
    FB_ASSIGN_OR_RETURN(filter, filter::Filter::Parse(options.filter));
  }
  FB_ASSIGN_OR_RETURN(Listing listing, ListTable(*source, request.uri, request.deadline));
  FB_RETURN_NOT_OK(
      source::WaitUntilSettled(listing.objects, Clock::Real(), request.deadline));
  return std::unique_ptr<Dataset>(std::make_unique<FolderDataset>(
      std::move(source), std::move(listing), std::move(filter)));
}

}  // namespace forebay::table
