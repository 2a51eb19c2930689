#include "native/numpy_arrays.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <unordered_map>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include "native/errors.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

using reader::Layout;

constexpr const char* kOwnerName = "forebay.owner";

void LoadNumpy() {
  if (PyArray_API == nullptr && _import_array() < 0) throw nb::python_error();
}

// Units of the C data interface as numpy writes them.
const char* UnitName(char unit) {
  switch (unit) {
    case 's': return "s";
    case 'm': return "ms";
    case 'u': return "us";
    default: return "ns";
  }
}

// How numpy writes a type; empty where it has none of the same width.
std::string TypeText(const std::string& format) {
  static const std::unordered_map<std::string_view, const char*> plain = {
      {"c", "i1"},       {"C", "u1"},       {"s", "i2"},      {"S", "u2"},
      {"i", "i4"},       {"I", "u4"},       {"l", "i8"},      {"L", "u8"},
      {"e", "f2"},       {"f", "f4"},       {"g", "f8"},      {"tiM", "i4"},
      {"tdm", "M8[ms]"}, {"ttu", "m8[us]"}, {"ttn", "m8[ns]"}};
  if (auto found = plain.find(format); found != plain.end()) return found->second;
  if (format.starts_with("ts") && format.size() >= 4) {
    return fmt::format("M8[{}]", UnitName(format[2]));
  }
  if (format.starts_with("tD") && format.size() == 3) {
    return fmt::format("m8[{}]", UnitName(format[2]));
  }
  return "";
}

PyArray_Descr* MakeDescr(const std::string& text) {
  PyArray_Descr* descr = nullptr;
  nb::str spelled(text.c_str(), text.size());
  if (PyArray_DescrConverter(spelled.ptr(), &descr) != NPY_SUCCEED) {
    throw nb::python_error();
  }
  return descr;
}

// Borrowed; kept for the life of the process, one for each type met.
PyArray_Descr* DescrOf(const reader::Column& column) {
  static auto* known = new std::unordered_map<std::string, PyArray_Descr*>;
  const std::string& format = column.field->format;
  auto found = known->find(format);
  if (found != known->end()) return found->second;
  std::string text = TypeText(format);
  if (text.empty()) text = fmt::format("V{}", column.type.width);
  PyArray_Descr* descr = MakeDescr(text);
  known->emplace(format, descr);
  return descr;
}

void DeleteOwner(PyObject* capsule) {
  delete static_cast<std::shared_ptr<const void>*>(
      PyCapsule_GetPointer(capsule, kOwnerName));
}

nb::object OwnerCapsule(const std::shared_ptr<const void>& owner) {
  auto held = std::make_unique<std::shared_ptr<const void>>(owner);
  PyObject* capsule = PyCapsule_New(held.get(), kOwnerName, DeleteOwner);
  if (capsule == nullptr) throw nb::python_error();
  held.release();
  return nb::steal(capsule);
}

nb::object NewArray(int type, uint64_t length) {
  LoadNumpy();
  npy_intp shape = static_cast<npy_intp>(length);
  PyObject* array = PyArray_SimpleNew(1, &shape, type);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

template <typename T>
T* DataOf(const nb::object& array) {
  return static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
}

bool Bit(const uint8_t* bits, uint64_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

[[noreturn]] void ThrowCorrupt(const reader::Column& column) {
  throw StatusError(Status::Corrupt(
      fmt::format("a chunk's offsets make no sense: column={}", column.field->name)));
}

bool IsWide(const reader::Column& column) {
  return column.type.layout == Layout::kBinary64 || column.type.layout == Layout::kList64;
}

struct Span {
  uint64_t begin;
  uint64_t end;
};

template <typename Offset>
Span RowSpan(const reader::Column& column, uint64_t row) {
  auto* offsets = reinterpret_cast<const Offset*>(column.values()) + column.offset;
  return {static_cast<uint64_t>(offsets[row]), static_cast<uint64_t>(offsets[row + 1])};
}

PyObject* NewText(const char* bytes, uint64_t size, bool is_utf8) {
  auto length = static_cast<Py_ssize_t>(size);
  if (is_utf8) return PyUnicode_DecodeUTF8(bytes, length, nullptr);
  return PyBytes_FromStringAndSize(bytes, length);
}

// Says which column it was; the caller has a UnicodeDecodeError or a MemoryError set.
[[noreturn]] void ThrowBadText(const reader::Column& column) {
  if (PyErr_ExceptionMatches(PyExc_UnicodeDecodeError) == 0) throw nb::python_error();
  PyErr_Clear();
  throw StatusError(Status::Invalid(
      fmt::format("column {} has text that is not UTF-8; read it with format=\"arrow\"",
                  column.field->name)));
}

template <typename Offset>
void FillTexts(const reader::Column& column, PyObject** out) {
  bool is_utf8 = column.field->format == "u" || column.field->format == "U";
  auto* bytes = reinterpret_cast<const char*>(column.buffers[2].data);
  for (uint64_t i = 0; i < column.length; ++i) {
    if (column.IsNull(i)) {
      out[i] = Py_NewRef(Py_None);
      continue;
    }
    Span span = RowSpan<Offset>(column, i);
    if (span.begin > span.end || span.end > column.buffers[2].size) ThrowCorrupt(column);
    out[i] = NewText(bytes + span.begin, span.end - span.begin, is_utf8);
    if (out[i] == nullptr) ThrowBadText(column);
  }
}

void FillFixedBytes(const reader::Column& column, PyObject** out) {
  uint64_t width = column.type.width;
  for (uint64_t i = 0; i < column.length; ++i) {
    auto* bytes =
        reinterpret_cast<const char*>(column.values() + (column.offset + i) * width);
    out[i] = column.IsNull(i) ? Py_NewRef(Py_None) : NewText(bytes, width, false);
    if (out[i] == nullptr) throw nb::python_error();
  }
}

template <typename Offset>
void FillOffsets(const reader::Column& column, int64_t* out) {
  out[0] = 0;
  if (column.length == 0) return;
  uint64_t first = RowSpan<Offset>(column, 0).begin;
  uint64_t items = column.children[0].length;
  for (uint64_t i = 0; i < column.length; ++i) {
    Span span = RowSpan<Offset>(column, i);
    if (span.begin > span.end || span.end > items) ThrowCorrupt(column);
    out[i + 1] = static_cast<int64_t>(span.end - first);
  }
}

}  // namespace

bool IsPlain(const reader::Column& column) {
  return column.type.layout == Layout::kFixed &&
         !TypeText(column.field->format).empty() && reader::CountNulls(column) == 0;
}

nb::object Values(const reader::Column& column) {
  LoadNumpy();
  PyArray_Descr* descr = DescrOf(column);
  npy_intp shape = static_cast<npy_intp>(column.length);
  auto* data = const_cast<uint8_t*>(column.values()) + column.offset * column.type.width;
  if (column.length == 0) data = nullptr;
  Py_INCREF(descr);
  PyObject* array =
      PyArray_NewFromDescr(&PyArray_Type, descr, 1, &shape, nullptr, data,
                           column.writable ? NPY_ARRAY_WRITEABLE : 0, nullptr);
  if (array == nullptr) throw nb::python_error();
  nb::object out = nb::steal(array);
  if (data == nullptr) return out;
  nb::object owner = OwnerCapsule(column.owner);
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array),
                            owner.release().ptr()) != 0) {
    throw nb::python_error();
  }
  return out;
}

nb::object Bools(const reader::Column& column) {
  nb::object array = NewArray(NPY_BOOL, column.length);
  auto* out = DataOf<uint8_t>(array);
  for (uint64_t i = 0; i < column.length; ++i) {
    out[i] = Bit(column.values(), column.offset + i) ? 1 : 0;
  }
  return array;
}

nb::object Nulls(const reader::Column& column) {
  nb::object array = NewArray(NPY_BOOL, column.length);
  auto* out = DataOf<uint8_t>(array);
  for (uint64_t i = 0; i < column.length; ++i) out[i] = column.IsNull(i) ? 1 : 0;
  return array;
}

nb::object Texts(const reader::Column& column) {
  nb::object array = NewArray(NPY_OBJECT, column.length);
  auto** out = DataOf<PyObject*>(array);
  if (column.type.layout == Layout::kFixed) {
    FillFixedBytes(column, out);
  } else if (IsWide(column)) {
    FillTexts<int64_t>(column, out);
  } else {
    FillTexts<int32_t>(column, out);
  }
  return array;
}

nb::object Offsets(const reader::Column& column) {
  nb::object array = NewArray(NPY_INT64, column.length + 1);
  auto* out = DataOf<int64_t>(array);
  if (IsWide(column)) {
    FillOffsets<int64_t>(column, out);
  } else {
    FillOffsets<int32_t>(column, out);
  }
  return array;
}

}  // namespace forebay::python
