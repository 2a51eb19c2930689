// From files whose layout is known to the bytes of a manifest.
#pragma once

#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "model/live_rows.h"
#include "model/manifest.h"
#include "table/files/table_file.h"
#include "table/range_cuts.h"

namespace forebay::table {

struct PlannedFile {
  model::Object object{};
  model::FileFormat format = model::FileFormat::kParquet;
  std::string context{};     // kept in the manifest for whoever decodes the file
  std::string depends_on{};  // what its rows depend on besides its bytes; part of keys
  std::vector<GroupLayout> groups{};  // column bytes by the table's columns
  std::vector<uint32_t> alone{};      // as in CutFile
  int64_t commit = 0;                 // as in CutFile
  model::LiveRows live{};             // no words: all rows
};

struct TablePlan {
  Hash128 version{};
  std::string origin{};
  model::Schema schema{};
  std::vector<PlannedFile> files{};
};

Result<std::string> BuildManifest(const TablePlan& plan, const CutOptions& cuts);

}  // namespace forebay::table
