// The live rows of all files of a plan.
#pragma once

#include "base/status.h"
#include "table/build_manifest.h"
#include "table/live/live_rows_of.h"
#include "table/plan_table.h"

namespace forebay::table {

// In parallel, as far as there is memory. The resolver is one of plan->schema.
Status SetLiveRows(const live::LiveRowsResolver& resolver, const PlanOptions& options,
                   TablePlan* plan);

}  // namespace forebay::table
