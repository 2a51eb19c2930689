// The columns a caller asked for, in the order it asked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/chunk.h"
#include "model/manifest.h"
#include "native/arrow_capsules.h"

namespace forebay::python {

struct Selection {
  model::Projection columns;     // ascending, as the reader wants them
  std::vector<uint32_t> places;  // of the columns in `columns`, in the order asked for

  // nullopt: all columns.
  static Result<Selection> Make(const model::Schema& schema,
                                const std::optional<std::vector<std::string>>& names);

  ArrowFields FieldsOf(const std::shared_ptr<const model::Manifest>& manifest) const;
  // Columns in the order of `columns` → in the order asked for.
  std::vector<reader::Column> Arrange(std::vector<reader::Column> columns) const;
};

}  // namespace forebay::python
