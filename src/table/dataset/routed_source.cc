#include "table/dataset/routed_source.h"

namespace forebay::table {
namespace {

class RoutedSource : public source::Source {
 public:
  RoutedSource(std::shared_ptr<source::Source> home, SourceFinder find)
      : home_(std::move(home)), find_(std::move(find)) {}

  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override {
    FB_ASSIGN_OR_RETURN(auto source, find_(uri));
    ++stats().requests;
    return source->List(uri, deadline);
  }

  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override {
    FB_ASSIGN_OR_RETURN(auto source, find_(uri));
    ++stats().requests;
    return source->Stat(uri, deadline);
  }

  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override {
    FB_ASSIGN_OR_RETURN(auto source, find_(object.uri));
    ++stats().requests;
    FB_RETURN_NOT_OK(source->Read(object, offset, into, deadline));
    stats().bytes += into.size();
    return Status::OK();
  }

  std::string origin() const override { return home_->origin(); }
  int parallelism() const override { return home_->parallelism(); }

 private:
  std::shared_ptr<source::Source> home_;
  SourceFinder find_;
};

}  // namespace

std::shared_ptr<source::Source> RouteSources(std::shared_ptr<source::Source> home,
                                             SourceFinder find) {
  return std::make_shared<RoutedSource>(std::move(home), std::move(find));
}

}  // namespace forebay::table
