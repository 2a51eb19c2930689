// A dataset as Python holds it: a table version behind this host's node.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "native/errors.h"
#include "native/selection.h"
#include "reader/buffer_pool.h"
#include "reader/remote_table.h"

namespace forebay::python {

class Table {
 public:
  explicit Table(std::shared_ptr<reader::RemoteTable> remote)
      : remote_(std::move(remote)), pool_(reader::BufferPool::Make()) {}

  const std::shared_ptr<reader::RemoteTable>& remote() const { return remote_; }
  const std::shared_ptr<reader::BufferPool>& pool() const { return pool_; }
  const std::shared_ptr<const model::Manifest>& manifest() const {
    return remote_->manifest();
  }
  Selection Select(const std::optional<std::vector<std::string>>& names) const {
    return Unwrap(Selection::Of(*remote_, names));
  }

 private:
  std::shared_ptr<reader::RemoteTable> remote_;
  std::shared_ptr<reader::BufferPool> pool_;
};

void BindTable(nanobind::module_& m);

}  // namespace forebay::python
