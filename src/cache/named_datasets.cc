#include "cache/named_datasets.h"

#include <fmt/format.h>

namespace forebay::cache {

Result<NamedDataset> FindNamed(NamedDatasets* datasets, const NamedRequest& request) {
  if (datasets == nullptr) {
    return Status::Unsupported("this node knows of no head, so it cannot open " +
                               request.uri);
  }
  if (!request.options.empty()) {
    return Status::Invalid(fmt::format(
        "{} is opened as its head defines it: '{}' belongs in forebay dataset create",
        request.uri, request.options.begin()->first));
  }
  FB_ASSIGN_OR_RETURN(auto named,
                      datasets->Find(request.uri, request.version, request.deadline));
  if (named.is_files == request.is_files) return named;
  return Status::Invalid(
      named.is_files ? request.uri + " is a tree of files: open it with forebay.files()"
                     : request.uri + " is a table: open it with forebay.open()");
}

}  // namespace forebay::cache
