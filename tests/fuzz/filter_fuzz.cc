// Filter texts: parsing and binding end with a filter or an error that points into the
// text, and the canonical text of a bound filter is that of its double negation.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/schema.h"
#include "table/filter/bind.h"
#include "table/filter/parse.h"

namespace {

using forebay::table::filter::Bind;
using forebay::table::filter::Filter;

forebay::model::Field Column(std::string name, std::string format) {
  forebay::model::Field field;
  field.name = std::move(name);
  field.format = std::move(format);
  return field;
}

// A column of every kind, by the letters that the corpus uses.
forebay::model::Schema EveryKind() {
  forebay::model::Schema schema;
  schema.fields = {
      Column("b", "b"),        Column("i", "i"),         Column("l", "l"),
      Column("h", "L"),        Column("f", "f"),         Column("d", "g"),
      Column("s", "u"),        Column("z", "z"),         Column("w", "w:4"),
      Column("day", "tdD"),    Column("t", "ttu"),       Column("ts", "tsu:"),
      Column("tz", "tsn:UTC"), Column("dec", "d:38,10"), Column("list", "+l"),
      Column("a", "+s")};
  schema.fields[14].children = {Column("item", "i")};
  schema.fields[15].children = {Column("b", "i"), Column("c d", "u")};
  return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const forebay::model::Schema kSchema = EveryKind();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto filter = Filter::Parse(text);
  if (!filter.ok()) return 0;
  auto bound = Bind(*filter, kSchema);
  if (!bound.ok()) return 0;
  auto twice = Filter::Parse("not(not(" + std::string(text) + "))");
  if (!twice.ok()) return 0;  // too deep or too long by now
  auto bound_twice = Bind(*twice, kSchema);
  FB_CHECK(bound_twice.ok());
  FB_CHECK(bound_twice->ToString() == bound->ToString());
  return 0;
}
