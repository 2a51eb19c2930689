// Avro
#include "table/table_file.h"
namespace forebay::table {
arrow::Result<std::unique_ptr<TableFile>> OpenAvro(const ObjectAccess&, FooterCache*) {
  return arrow::Status::NotImplemented("Avro");
}
}  // namespace forebay::table
