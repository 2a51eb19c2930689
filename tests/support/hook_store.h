// A metadata store that lets something happen before its next write.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "meta/memory_store.h"

namespace forebay::testing_support {

class HookStore : public meta::MemoryStore {
 public:
  std::function<void()> before_put;  // once
  Result<uint64_t> Put(const std::string& key, const std::string& value,
                       const meta::PutOptions& options) override {
    if (auto once = std::exchange(before_put, nullptr)) once();
    return MemoryStore::Put(key, value, options);
  }
};

}  // namespace forebay::testing_support
