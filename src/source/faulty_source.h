// A source that fails by plan, around any other: for tests of what stands on sources.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "source/source.h"

namespace forebay::source {

enum class Call { kList, kStat, kRead };

// What goes wrong, and when. The first fault of the plan that matches a call acts on it.
struct Fault {
  Call call = Call::kRead;
  std::string uri_contains{};      // empty: every URI
  int skip = 0;                    // matching calls that pass before it
  int times = 1;                   // matching calls it acts on
  Status status{};                 // returned instead of calling; ok: the call goes on
  std::function<void()> before{};  // runs first: to overwrite the object, say
  bool flip_a_bit = false;         // of what a read delivers
  bool go_back = false;            // a stream begins again in the middle
  bool hang = false;               // nothing comes until the deadline passes
};

class FaultySource : public Source {
 public:
  explicit FaultySource(std::shared_ptr<Source> inner) : inner_(std::move(inner)) {}

  void Add(Fault fault);
  // How often faults acted. A fault test that does not check this proves nothing.
  int fired() const;

  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override;
  Result<Tree> ListTree(const std::string& uri, Deadline deadline) override;
  bool pages() const override { return inner_->pages(); }
  Result<Page> ListPage(const PageRequest& request, Deadline deadline) override;
  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override;
  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override;
  bool streams() const override { return inner_->streams(); }
  Status Stream(const model::Object& object, Slice slice, const Sink& sink,
                Deadline deadline) override;
  std::string origin() const override { return inner_->origin(); }
  int parallelism() const override { return inner_->parallelism(); }

 private:
  // The fault for this call, taken from the plan; a default one when none matches.
  Fault Next(Call call, const std::string& uri);
  // Applies the fault. An error ends the call.
  static Status Act(const Fault& fault, Deadline deadline);

  std::shared_ptr<Source> inner_;
  mutable std::mutex mutex_;
  std::vector<Fault> plan_;
  int fired_ = 0;
};

}  // namespace forebay::source
