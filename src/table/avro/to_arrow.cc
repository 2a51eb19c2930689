#include "table/avro/to_arrow.h"

#include <arrow/api.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include "base/arrow_status.h"

namespace forebay::table::avro {
namespace {

using FieldPtr = std::shared_ptr<arrow::Field>;
using TypePtr = std::shared_ptr<arrow::DataType>;

constexpr int32_t kDecimalDigitsMax = 38;

Result<TypePtr> TypeOf(const Schema& schema);

Result<FieldPtr> FieldOf(const std::string& name, const Schema& schema, int32_t id) {
  FB_ASSIGN_OR_RETURN(TypePtr type, TypeOf(schema.nullable_type()));
  bool nullable = schema.null_branch() >= 0 || schema.kind == Kind::kNull;
  auto metadata =
      id < 0 ? nullptr
             : arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(id)});
  return arrow::field(name, std::move(type), nullable, std::move(metadata));
}

TypePtr LongType(const Schema& schema) {
  std::string zone = schema.adjust_to_utc ? "UTC" : "";
  switch (schema.logical) {
    case Logical::kTimeMicros: return arrow::time64(arrow::TimeUnit::MICRO);
    case Logical::kTimestampMillis: return arrow::timestamp(arrow::TimeUnit::MILLI, zone);
    case Logical::kTimestampMicros: return arrow::timestamp(arrow::TimeUnit::MICRO, zone);
    case Logical::kTimestampNanos: return arrow::timestamp(arrow::TimeUnit::NANO, zone);
    case Logical::kLocalTimestampMillis: return arrow::timestamp(arrow::TimeUnit::MILLI);
    case Logical::kLocalTimestampMicros: return arrow::timestamp(arrow::TimeUnit::MICRO);
    case Logical::kLocalTimestampNanos: return arrow::timestamp(arrow::TimeUnit::NANO);
    default: return arrow::int64();
  }
}

TypePtr IntType(const Schema& schema) {
  if (schema.logical == Logical::kDate) return arrow::date32();
  if (schema.logical == Logical::kTimeMillis) {
    return arrow::time32(arrow::TimeUnit::MILLI);
  }
  return arrow::int32();
}

Result<TypePtr> DecimalType(const Schema& schema) {
  if (schema.precision < 1 || schema.precision > kDecimalDigitsMax || schema.size > 16) {
    return Status::Unsupported(fmt::format(
        "a decimal of {} digits, {} bytes, is not read", schema.precision, schema.size));
  }
  return TypePtr(arrow::decimal128(schema.precision, schema.scale));
}

bool IsKeyValue(const Schema& schema) {
  return schema.logical == Logical::kMap && schema.children[0].kind == Kind::kRecord &&
         schema.children[0].fields.size() == 2;
}

Result<TypePtr> ArrayType(const Schema& schema) {
  const Schema& items = schema.children[0];
  if (!IsKeyValue(schema)) {
    FB_ASSIGN_OR_RETURN(FieldPtr element, FieldOf("element", items, schema.element_id));
    return TypePtr(arrow::list(element));
  }
  FB_ASSIGN_OR_RETURN(FieldPtr key,
                      FieldOf("key", items.fields[0].type, items.fields[0].id));
  FB_ASSIGN_OR_RETURN(FieldPtr value,
                      FieldOf("value", items.fields[1].type, items.fields[1].id));
  return TypePtr(std::make_shared<arrow::MapType>(key->WithNullable(false), value));
}

Result<TypePtr> MapTypeOf(const Schema& schema) {
  Schema string;
  string.kind = Kind::kString;
  FB_ASSIGN_OR_RETURN(FieldPtr key, FieldOf("key", string, schema.key_id));
  FB_ASSIGN_OR_RETURN(FieldPtr value,
                      FieldOf("value", schema.children[0], schema.value_id));
  return TypePtr(std::make_shared<arrow::MapType>(key, value));
}

Result<arrow::FieldVector> FieldsOf(const Schema& record) {
  arrow::FieldVector fields;
  for (const Field& field : record.fields) {
    FB_ASSIGN_OR_RETURN(FieldPtr made, FieldOf(field.name, field.type, field.id));
    fields.push_back(std::move(made));
  }
  return fields;
}

Result<TypePtr> TypeOf(const Schema& schema) {
  switch (schema.kind) {
    case Kind::kNull: return arrow::null();
    case Kind::kBoolean: return arrow::boolean();
    case Kind::kInt: return IntType(schema);
    case Kind::kLong: return LongType(schema);
    case Kind::kFloat: return arrow::float32();
    case Kind::kDouble: return arrow::float64();
    case Kind::kBytes:
      return schema.logical == Logical::kDecimal ? DecimalType(schema) : arrow::binary();
    case Kind::kFixed:
      if (schema.logical == Logical::kDecimal) return DecimalType(schema);
      return arrow::fixed_size_binary(static_cast<int32_t>(schema.size));
    case Kind::kString:
    case Kind::kEnum: return arrow::utf8();
    case Kind::kArray: return ArrayType(schema);
    case Kind::kMap: return MapTypeOf(schema);
    case Kind::kRecord: {
      FB_ASSIGN_OR_RETURN(auto fields, FieldsOf(schema));
      return TypePtr(arrow::struct_(std::move(fields)));
    }
    case Kind::kUnion: break;
  }
  return Status::Unsupported("a union other than of null and one type is not read");
}

}  // namespace

// Appends one value of a schema to a builder.
class ValueReader {
 public:
  ValueReader(const Schema& schema, arrow::ArrayBuilder* builder)
      : null_branch_(schema.null_branch()), builder_(builder) {}
  virtual ~ValueReader() = default;
  ValueReader(const ValueReader&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;

  arrow::Status Append(Decoder& decoder) {
    if (!decoder.Present(null_branch_)) return builder_->AppendNull();
    return AppendValue(decoder);
  }
  arrow::ArrayBuilder* builder() { return builder_; }

 protected:
  virtual arrow::Status AppendValue(Decoder& decoder) = 0;

  const int null_branch_;
  arrow::ArrayBuilder* builder_;
};

namespace {

using ReaderPtr = std::unique_ptr<ValueReader>;

template <typename Builder, typename Read>
class PlainReader : public ValueReader {
 public:
  PlainReader(const Schema& schema, arrow::ArrayBuilder* builder, Read read)
      : ValueReader(schema, builder), read_(std::move(read)) {}

 protected:
  arrow::Status AppendValue(Decoder& decoder) override {
    return static_cast<Builder*>(builder_)->Append(read_(decoder));
  }

 private:
  Read read_;
};

template <typename Builder, typename Read>
ReaderPtr Plain(const Schema& schema, arrow::ArrayBuilder* builder, Read read) {
  return std::make_unique<PlainReader<Builder, Read>>(schema, builder, std::move(read));
}

class NullReader : public ValueReader {
 public:
  using ValueReader::ValueReader;

 protected:
  arrow::Status AppendValue(Decoder&) override { return builder_->AppendNull(); }
};

class DecimalReader : public ValueReader {
 public:
  DecimalReader(const Schema& schema, arrow::ArrayBuilder* builder)
      : ValueReader(schema, builder), type_(schema.nullable_type()) {}

 protected:
  arrow::Status AppendValue(Decoder& decoder) override {
    std::string_view bytes = type_.kind == Kind::kFixed
                                 ? decoder.Fixed(static_cast<uint64_t>(type_.size))
                                 : decoder.Bytes();
    if (bytes.empty() && type_.size != 0) decoder.Fail();
    if (!decoder.ok() || bytes.empty()) {
      return static_cast<arrow::Decimal128Builder*>(builder_)->Append(
          arrow::Decimal128());
    }
    ARROW_ASSIGN_OR_RAISE(auto value,
                          arrow::Decimal128::FromBigEndian(
                              reinterpret_cast<const uint8_t*>(bytes.data()),
                              static_cast<int32_t>(std::min<size_t>(bytes.size(), 17))));
    return static_cast<arrow::Decimal128Builder*>(builder_)->Append(value);
  }

 private:
  const Schema& type_;
};

class FixedReader : public ValueReader {
 public:
  FixedReader(const Schema& schema, arrow::ArrayBuilder* builder)
      : ValueReader(schema, builder), size_(schema.nullable_type().size) {}

 protected:
  arrow::Status AppendValue(Decoder& decoder) override {
    std::string_view bytes = decoder.Fixed(static_cast<uint64_t>(size_));
    if (!decoder.ok()) return builder_->AppendNull();
    return static_cast<arrow::FixedSizeBinaryBuilder*>(builder_)->Append(bytes);
  }

 private:
  const int64_t size_;
};

class EnumReader : public ValueReader {
 public:
  EnumReader(const Schema& schema, arrow::ArrayBuilder* builder)
      : ValueReader(schema, builder), symbols_(schema.nullable_type().symbols) {}

 protected:
  arrow::Status AppendValue(Decoder& decoder) override {
    int64_t index = decoder.Branch(static_cast<int64_t>(symbols_.size()));
    if (!decoder.ok()) return builder_->AppendNull();
    return static_cast<arrow::StringBuilder*>(builder_)->Append(symbols_[index]);
  }

 private:
  const std::vector<std::string>& symbols_;
};

class StructReader : public ValueReader {
 public:
  StructReader(const Schema& schema, arrow::ArrayBuilder* builder,
               std::vector<ReaderPtr> children)
      : ValueReader(schema, builder), children_(std::move(children)) {}

 protected:
  arrow::Status AppendValue(Decoder& decoder) override {
    ARROW_RETURN_NOT_OK(static_cast<arrow::StructBuilder*>(builder_)->Append());
    for (ReaderPtr& child : children_) ARROW_RETURN_NOT_OK(child->Append(decoder));
    return arrow::Status::OK();
  }

 private:
  std::vector<ReaderPtr> children_;
};

// Lists, and maps in both of their encodings: items are one value, or key and value.
template <typename Builder>
class ItemsReader : public ValueReader {
 public:
  ItemsReader(const Schema& schema, arrow::ArrayBuilder* builder,
              std::vector<ReaderPtr> children)
      : ValueReader(schema, builder),
        item_bytes_min_(schema.nullable_type().children[0].bytes_min),
        children_(std::move(children)) {}

 protected:
  arrow::Status AppendValue(Decoder& decoder) override {
    ARROW_RETURN_NOT_OK(static_cast<Builder*>(builder_)->Append());
    while (int64_t count = decoder.ItemCount(item_bytes_min_)) {
      for (int64_t i = 0; i < count && decoder.ok(); ++i) {
        for (ReaderPtr& child : children_) ARROW_RETURN_NOT_OK(child->Append(decoder));
      }
    }
    return arrow::Status::OK();
  }

 private:
  const int64_t item_bytes_min_;
  std::vector<ReaderPtr> children_;
};

ReaderPtr MakeReader(const Schema& schema, arrow::ArrayBuilder* builder);

ReaderPtr MakeMapReader(const Schema& schema, arrow::ArrayBuilder* builder) {
  const Schema& type = schema.nullable_type();
  auto* map = static_cast<arrow::MapBuilder*>(builder);
  static const Schema kString = [] {
    Schema string;
    string.kind = Kind::kString;
    return string;
  }();
  bool pairs = type.kind == Kind::kArray;
  const Schema& key = pairs ? type.children[0].fields[0].type : kString;
  const Schema& value = pairs ? type.children[0].fields[1].type : type.children[0];
  std::vector<ReaderPtr> children;
  children.push_back(MakeReader(key, map->key_builder()));
  children.push_back(MakeReader(value, map->item_builder()));
  return std::make_unique<ItemsReader<arrow::MapBuilder>>(schema, builder,
                                                          std::move(children));
}

ReaderPtr MakeNestedReader(const Schema& schema, arrow::ArrayBuilder* builder) {
  const Schema& type = schema.nullable_type();
  if (type.kind == Kind::kMap || (type.kind == Kind::kArray && IsKeyValue(type))) {
    return MakeMapReader(schema, builder);
  }
  std::vector<ReaderPtr> children;
  if (type.kind == Kind::kArray) {
    auto* list = static_cast<arrow::ListBuilder*>(builder);
    children.push_back(MakeReader(type.children[0], list->value_builder()));
    return std::make_unique<ItemsReader<arrow::ListBuilder>>(schema, builder,
                                                             std::move(children));
  }
  auto* parent = static_cast<arrow::StructBuilder*>(builder);
  for (size_t i = 0; i < type.fields.size(); ++i) {
    children.push_back(
        MakeReader(type.fields[i].type, parent->field_builder(static_cast<int>(i))));
  }
  return std::make_unique<StructReader>(schema, builder, std::move(children));
}

ReaderPtr MakeLongReader(const Schema& schema, arrow::ArrayBuilder* builder) {
  auto read = [](Decoder& d) { return d.Long(); };
  switch (builder->type()->id()) {
    case arrow::Type::TIME64: return Plain<arrow::Time64Builder>(schema, builder, read);
    case arrow::Type::TIMESTAMP:
      return Plain<arrow::TimestampBuilder>(schema, builder, read);
    default: return Plain<arrow::Int64Builder>(schema, builder, read);
  }
}

ReaderPtr MakeIntReader(const Schema& schema, arrow::ArrayBuilder* builder) {
  auto read = [](Decoder& d) { return d.Int(); };
  switch (builder->type()->id()) {
    case arrow::Type::DATE32: return Plain<arrow::Date32Builder>(schema, builder, read);
    case arrow::Type::TIME32: return Plain<arrow::Time32Builder>(schema, builder, read);
    default: return Plain<arrow::Int32Builder>(schema, builder, read);
  }
}

// The builder has the type that TypeOf gives the schema.
ReaderPtr MakeReader(const Schema& schema, arrow::ArrayBuilder* builder) {
  const Schema& type = schema.nullable_type();
  auto bytes = [](Decoder& d) { return d.Bytes(); };
  switch (type.kind) {
    case Kind::kBoolean:
      return Plain<arrow::BooleanBuilder>(schema, builder,
                                          [](Decoder& d) { return d.Boolean(); });
    case Kind::kInt: return MakeIntReader(schema, builder);
    case Kind::kLong: return MakeLongReader(schema, builder);
    case Kind::kFloat:
      return Plain<arrow::FloatBuilder>(schema, builder,
                                        [](Decoder& d) { return d.Float(); });
    case Kind::kDouble:
      return Plain<arrow::DoubleBuilder>(schema, builder,
                                         [](Decoder& d) { return d.Double(); });
    case Kind::kBytes:
    case Kind::kFixed:
      if (type.logical == Logical::kDecimal) {
        return std::make_unique<DecimalReader>(schema, builder);
      }
      if (type.kind == Kind::kFixed)
        return std::make_unique<FixedReader>(schema, builder);
      return Plain<arrow::BinaryBuilder>(schema, builder, bytes);
    case Kind::kString: return Plain<arrow::StringBuilder>(schema, builder, bytes);
    case Kind::kEnum: return std::make_unique<EnumReader>(schema, builder);
    case Kind::kArray:
    case Kind::kMap:
    case Kind::kRecord: return MakeNestedReader(schema, builder);
    case Kind::kNull:
    case Kind::kUnion: break;
  }
  return std::make_unique<NullReader>(schema, builder);
}

// Owns the column's builder.
class ColumnReader : public ValueReader {
 public:
  ColumnReader(const Schema& schema, std::unique_ptr<arrow::ArrayBuilder> builder)
      : ValueReader(Schema(), builder.get()),
        owned_(std::move(builder)),
        reader_(MakeReader(schema, owned_.get())) {}

 protected:
  arrow::Status AppendValue(Decoder& decoder) override {
    return reader_->Append(decoder);
  }

 private:
  std::unique_ptr<arrow::ArrayBuilder> owned_;
  ReaderPtr reader_;
};

}  // namespace

Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const Schema& schema) {
  if (schema.kind != Kind::kRecord) {
    return Status::Unsupported("an Avro file whose rows are not records is not read");
  }
  FB_ASSIGN_OR_RETURN(auto fields, FieldsOf(schema));
  return arrow::schema(std::move(fields));
}

RowReader::~RowReader() = default;

Result<std::unique_ptr<RowReader>> RowReader::Make(const Schema& schema,
                                                   const std::vector<int>& fields,
                                                   arrow::MemoryPool* pool) {
  FB_ASSIGN_OR_RETURN(auto all, ToArrowSchema(schema));
  auto out = std::unique_ptr<RowReader>(new RowReader());
  out->schema_ = &schema;
  out->readers_.resize(schema.fields.size());
  arrow::FieldVector columns;
  for (int field : fields) {
    columns.push_back(all->field(field));
    FB_ASSIGN_OR_RETURN(auto builder,
                        FromArrow(arrow::MakeBuilder(columns.back()->type(), pool)));
    out->readers_.at(field) =
        std::make_unique<ColumnReader>(schema.fields[field].type, std::move(builder));
  }
  out->columns_ = arrow::schema(std::move(columns));
  return out;
}

arrow::Status RowReader::Append(Decoder& decoder) {
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i] == nullptr) {
      decoder.Skip(schema_->fields[i].type);
    } else {
      ARROW_RETURN_NOT_OK(readers_[i]->Append(decoder));
    }
  }
  ++row_count_;
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> RowReader::Finish() {
  arrow::ArrayVector arrays;
  for (auto& reader : readers_) {
    if (reader == nullptr) continue;
    ARROW_ASSIGN_OR_RAISE(auto array, reader->builder()->Finish());
    arrays.push_back(std::move(array));
  }
  int64_t rows = std::exchange(row_count_, 0);
  return arrow::RecordBatch::Make(columns_, rows, std::move(arrays));
}

}  // namespace forebay::table::avro
