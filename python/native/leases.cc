#include "native/leases.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "leases/lease_file.h"
#include "native/blocking.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

struct LeaseOptions {
  std::string path;
  std::string epoch;
  std::string holder;
  uint64_t rows = 0;
  uint64_t lease_rows = 0;
  int64_t lease_ms = 0;
};

// Positions [first, first + count), or none: then the epoch is finished, or there may be
// some again in wait_seconds, at the latest.
struct Grant {
  uint64_t fence = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  bool finished = false;
  double wait_seconds = 0;
};

class Leases {
 public:
  explicit Leases(const LeaseOptions& options) {
    leases::LeaseFile::Options file{.path = options.path,
                                    .epoch = options.epoch,
                                    .rows = options.rows,
                                    .lease_rows = options.lease_rows,
                                    .lease_time = milliseconds(options.lease_ms),
                                    .holder = options.holder};
    file_ = Blocking(this, [&] { return leases::LeaseFile::Open(std::move(file)); });
  }

  Grant Take() {
    return Blocking(this, [&]() -> Result<Grant> {
      std::lock_guard lock(mutex_);
      FB_ASSIGN_OR_RETURN(plan::LeaseGrant grant, file_->Take());
      if (grant.lease) {
        return Grant{grant.lease->fence, grant.lease->first, grant.lease->count};
      }
      return Grant{
          .finished = grant.finished,
          .wait_seconds =
              std::chrono::duration<double>(file_->Until(grant.retry_ms)).count()};
    });
  }
  // False: the lease was given to another.
  bool Acknowledge(uint64_t fence, uint64_t until) {
    return StillHeld([&] { return file_->Acknowledge(fence, until); });
  }
  bool Release(uint64_t fence) {
    return StillHeld([&] { return file_->Release(fence); });
  }
  std::tuple<uint64_t, uint64_t, uint64_t> Progress() {
    auto progress = Blocking(this, [&] {
      std::lock_guard lock(mutex_);
      return file_->Progress();
    });
    return {progress.rows, progress.acknowledged_rows, progress.held_rows};
  }

 private:
  template <typename Call>
  bool StillHeld(Call call) {
    return Blocking(this, [&]() -> Result<bool> {
      std::lock_guard lock(mutex_);
      Status status = call();
      if (status.code() == StatusCode::kChanged) return false;
      FB_RETURN_NOT_OK(status);
      return true;
    });
  }

  std::mutex mutex_;
  std::unique_ptr<leases::LeaseFile> file_;
};

}  // namespace

void BindLeases(nb::module_& m) {
  nb::class_<LeaseOptions>(m, "LeaseOptions")
      .def(nb::init<>())
      .def_rw("path", &LeaseOptions::path)
      .def_rw("epoch", &LeaseOptions::epoch)
      .def_rw("holder", &LeaseOptions::holder)
      .def_rw("rows", &LeaseOptions::rows)
      .def_rw("lease_rows", &LeaseOptions::lease_rows)
      .def_rw("lease_ms", &LeaseOptions::lease_ms);
  nb::class_<Grant>(m, "LeaseGrant")
      .def_ro("fence", &Grant::fence)
      .def_ro("first", &Grant::first)
      .def_ro("count", &Grant::count)
      .def_ro("finished", &Grant::finished)
      .def_ro("wait_seconds", &Grant::wait_seconds);
  nb::class_<Leases>(m, "Leases")
      .def(nb::init<const LeaseOptions&>())
      .def("take", &Leases::Take)
      .def("acknowledge", &Leases::Acknowledge, nb::arg("fence"), nb::arg("until"))
      .def("release", &Leases::Release, nb::arg("fence"))
      .def("progress", &Leases::Progress);
}

}  // namespace forebay::python
