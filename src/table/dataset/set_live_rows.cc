#include "table/dataset/set_live_rows.h"

#include "table/memory_jobs.h"

namespace forebay::table {

Status SetLiveRows(const live::LiveRowsResolver& resolver, const PlanOptions& options,
                   TablePlan* plan) {
  std::vector<size_t> touched;
  for (size_t i = 0; i < plan->files.size(); ++i) {
    if (resolver.Touches(i)) touched.push_back(i);
  }
  auto file_of = [&](size_t job) {
    const PlannedFile& file = plan->files[touched[job]];
    return live::FileRef{file.object, file.format, file.context};
  };
  auto bytes = [&](size_t job) {
    return resolver.MemoryBytes(touched[job], file_of(job),
                                plan->files[touched[job]].groups);
  };
  auto run = [&](size_t job) -> Status {
    FB_ASSIGN_OR_RETURN(plan->files[touched[job]].live,
                        resolver.Of(touched[job], file_of(job)));
    return Status::OK();
  };
  return RunMemoryJobs({.count = touched.size(),
                        .bytes = bytes,
                        .run = run,
                        .pool = options.pool,
                        .budget = options.budget,
                        .deadline = options.deadline});
}

}  // namespace forebay::table
