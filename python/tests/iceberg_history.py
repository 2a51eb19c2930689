"""Random histories of an Iceberg table, written by PyIceberg from a seed."""

import datetime
import decimal
import random
import string

import pyarrow as pa
from pyiceberg import types
from pyiceberg.expressions import And, GreaterThanOrEqual, IsNull, LessThan
from pyiceberg.transforms import (BucketTransform, DayTransform, HourTransform,
                                  IdentityTransform, MonthTransform, TruncateTransform,
                                  YearTransform)

EPOCH = datetime.datetime(2020, 2, 27, tzinfo=datetime.timezone.utc)
PRIMITIVES = (types.IntegerType(), types.LongType(), types.FloatType(), types.DoubleType(),
              types.StringType(), types.BooleanType(), types.DateType(), types.TimeType(),
              types.TimestampType(), types.TimestamptzType(), types.DecimalType(7, 2),
              types.DecimalType(30, 4), types.BinaryType(), types.FixedType(5))
WIDER = {types.IntegerType(): types.LongType(), types.FloatType(): types.DoubleType(),
         types.DecimalType(7, 2): types.DecimalType(12, 2),
         types.DecimalType(12, 2): types.DecimalType(38, 2)}
TRANSFORMS = {types.DateType(): (YearTransform(), MonthTransform(), DayTransform()),
              types.TimestampType(): (DayTransform(), HourTransform()),
              types.TimestamptzType(): (MonthTransform(), HourTransform()),
              types.StringType(): (IdentityTransform(), BucketTransform(3), TruncateTransform(6)),
              types.IntegerType(): (IdentityTransform(), TruncateTransform(10)),
              types.LongType(): (BucketTransform(4),), types.BooleanType(): (IdentityTransform(),)}


class History:
    """A table and the steps it takes. ``id`` numbers all rows ever written."""

    def __init__(self, catalog, name, seed):
        self.random = random.Random(seed)
        self.next_id = 0
        self.next_name = 0
        schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
        version = str(self.random.choice((1, 2)))
        self.table = catalog.create_table(name, schema, properties={"format-version": version})
        self.log = [f"format {version}"]
        for _ in range(self.random.randint(2, 5)):
            self.add()
        self.append()

    def step(self):
        """One random change."""
        steps = (self.append, self.append, self.delete, self.overwrite, self.add, self.rename,
                 self.drop, self.move, self.widen, self.add_nested, self.partition,
                 self.unpartition)
        self.random.choice(steps)()
        self.table.refresh()

    def fresh_name(self):
        self.next_name += 1
        letters = self.random.choice((string.ascii_lowercase, "äéñ日本", "AbCd"))
        return f"{self.random.choice(letters)}{self.next_name}"

    def columns(self, *kinds):
        fields = [f for f in self.table.schema().fields if f.name != "id"]
        return [f for f in fields if not kinds or isinstance(f.field_type, kinds)]

    def some_type(self, depth=0):
        kind = self.random.random()
        if depth < 2 and kind < 0.12:
            return types.ListType(element_id=-1, element=self.some_type(depth + 1),
                                  element_required=False)
        if depth < 2 and kind < 0.2:
            return types.MapType(key_id=-1, key_type=self.random.choice(
                (types.StringType(), types.IntegerType())), value_id=-2,
                value_type=self.some_type(depth + 1), value_required=False)
        if depth < 2 and kind < 0.4:
            return types.StructType(*(
                types.NestedField(field_id=-1 - i, name=f"s{i}", required=False,
                                  field_type=self.some_type(depth + 1))
                for i in range(self.random.randint(1, 3))))
        return self.random.choice(PRIMITIVES)

    # What changes rows.

    def append(self):
        rows = self.rows(self.random.choice((1, 3, 20)))
        self.log.append(f"append {rows.num_rows}")
        self.table.append(rows)

    def delete(self):
        where = self.some_rows()
        self.log.append(f"delete {where}")
        self.table.delete(where)

    def overwrite(self):
        where, rows = self.some_rows(), self.rows(self.random.randint(1, 9))
        self.log.append(f"overwrite {where} with {rows.num_rows}")
        self.table.overwrite(rows, where)

    def some_rows(self):
        columns = self.columns(types.PrimitiveType)
        if columns and self.random.random() < 0.3:
            return IsNull(self.random.choice(columns).name)
        first = self.random.randrange(self.next_id + 1)
        return And(GreaterThanOrEqual("id", first),
                   LessThan("id", first + self.random.randint(0, 30)))

    def rows(self, count):
        ids = list(range(self.next_id, self.next_id + count))
        self.next_id += count
        schema = self.table.schema()
        data = {field.name: [self.value(field.field_type) for _ in ids]
                for field in schema.fields if field.name != "id"}
        return pa.table({field.name: pa.array(ids if field.name == "id" else data[field.name],
                                              field.type)
                         for field in schema.as_arrow()}, schema.as_arrow())

    def value(self, kind):
        if self.random.random() < 0.15:
            return None
        whole = self.random.randrange(-2**31, 2**31)
        if self.random.random() < 0.5:
            whole = self.random.randrange(4)  # values that come again
        moment = EPOCH + datetime.timedelta(hours=whole % 99, microseconds=whole % 1_000_000)
        if isinstance(kind, types.StructType):
            return {f.name: self.value(f.field_type) for f in kind.fields}
        if isinstance(kind, types.ListType):
            return [self.value(kind.element_type) for _ in range(self.random.randrange(3))]
        if isinstance(kind, types.MapType):
            keys = {str(i) if isinstance(kind.key_type, types.StringType) else i
                    for i in range(self.random.randrange(3))}
            return [(key, self.value(kind.value_type)) for key in sorted(keys)]
        if isinstance(kind, types.DecimalType):
            return decimal.Decimal(whole % 10**7) / 10**kind.scale
        return {
            types.IntegerType: lambda: whole, types.LongType: lambda: whole * 2**30,
            types.FloatType: lambda: self.random.choice((whole / 8, float("inf"), -0.0)),
            types.DoubleType: lambda: self.random.choice((whole / 7, float("-inf"), 0.0)),
            types.StringType: lambda: f"tëxt {whole}" * (whole % 3),
            types.BooleanType: lambda: whole % 2 == 0, types.DateType: lambda: moment.date(),
            types.TimeType: lambda: moment.time(),
            types.TimestampType: lambda: moment.replace(tzinfo=None),
            types.TimestamptzType: lambda: moment,
            types.BinaryType: lambda: b"\0\xff" * (whole % 4),
            types.FixedType: lambda: f"{whole % 10**5:05}".encode(),
        }[type(kind)]()

    # What changes the schema.

    def add(self):
        name, kind = self.fresh_name(), self.some_type()
        self.log.append(f"add {name} {kind}")
        with self.table.update_schema() as update:
            update.add_column(name, kind)

    def add_nested(self):
        for field in self.columns(types.StructType)[:1]:
            name, kind = self.fresh_name(), self.some_type(2)
            self.log.append(f"add {field.name}.{name} {kind}")
            with self.table.update_schema() as update:
                update.add_column((field.name, name), kind)

    def rename(self):
        for field in self.random.sample(self.columns(), min(1, len(self.columns()))):
            name = self.fresh_name()
            self.log.append(f"rename {field.name} {name}")
            with self.table.update_schema() as update:
                update.rename_column(field.name, name)

    def drop(self):
        used = {f.source_id for spec in self.table.specs().values() for f in spec.fields}
        columns = [f for f in self.columns() if f.field_id not in used]
        if len(columns) < 2:
            return
        name = self.random.choice(columns).name
        again = self.random.random() < 0.3  # a new column of an old name is another one
        self.log.append(f"drop {name}, again {again}")
        with self.table.update_schema() as update:
            update.delete_column(name)
        if again:
            with self.table.update_schema() as update:
                update.add_column(name, self.some_type())

    def move(self):
        columns = self.columns()
        if len(columns) > 1:
            one, other = self.random.sample(columns, 2)
            self.log.append(f"move {one.name} before {other.name}")
            with self.table.update_schema() as update:
                update.move_before(one.name, other.name)

    def widen(self):
        columns = [f for f in self.columns() if f.field_type in WIDER]
        for field in columns[:1]:
            self.log.append(f"widen {field.name}")
            with self.table.update_schema() as update:
                update.update_column(field.name, field_type=WIDER[field.field_type])

    def partition(self):
        used = {f.source_id for f in self.table.spec().fields}
        columns = [f for f in self.columns()
                   if f.field_type in TRANSFORMS and f.field_id not in used]
        if not columns:
            return
        field = self.random.choice(columns)
        transform = self.random.choice(TRANSFORMS[field.field_type])
        self.log.append(f"partition by {transform} of {field.name}")
        with self.table.update_spec() as update:
            update.add_field(field.name, transform, self.fresh_name())

    def unpartition(self):
        for field in self.table.spec().fields[:1]:
            self.log.append(f"partition no more by {field.name}")
            with self.table.update_spec() as update:
                update.remove_field(field.name)
