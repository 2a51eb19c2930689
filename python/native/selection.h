// The columns a caller asked for, as Arrow capsules want them.
#pragma once

#include <memory>

#include "native/arrow_capsules.h"
#include "reader/request/column_choice.h"

namespace forebay::python {

using Selection = reader::ColumnChoice;

inline ArrowFields FieldsOf(const Selection& selection,
                            const std::shared_ptr<const model::Manifest>& manifest) {
  return {manifest, selection.Fields(manifest->schema())};
}

}  // namespace forebay::python
