#include "native/arrow_capsules.h"

#include <fmt/format.h>

#include <cerrno>

#include "native/errors.h"
#include "reader/export.h"

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
extern "C" {
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}  // extern "C"
#endif

namespace nb = nanobind;

namespace forebay::python {
namespace {

template <typename T>
void DeleteCapsule(PyObject* capsule) {
  auto* held = static_cast<T*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  if (held->release != nullptr) held->release(held);
  delete held;
}

// A capsule that releases and deletes what it holds, unless a consumer moved it out.
template <typename T>
nb::object Capsule(std::unique_ptr<T> held, const char* name) {
  PyObject* capsule = PyCapsule_New(held.get(), name, DeleteCapsule<T>);
  if (capsule == nullptr) {
    if (held->release != nullptr) held->release(held.get());
    throw nb::python_error();
  }
  held.release();
  return nb::steal(capsule);
}

void Export(const ArrowFields& fields, ArrowSchema* out) {
  reader::ExportSchema(fields.fields, fields.manifest->schema().metadata, out);
}

// What a stream's private_data points to.
struct StreamState {
  ArrowFields fields;
  NextArrowBatch next;
  std::string error;
};

StreamState* StateOf(ArrowArrayStream* stream) {
  return static_cast<StreamState*>(stream->private_data);
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  Export(StateOf(stream)->fields, out);
  return 0;
}

// The consumer may come with the GIL or without. With it, another thread that has the
// dataset's lock and looks for signals would never get it.
Result<std::optional<ArrowBatch>> NextWithoutGil(const StreamState& state) {
  if (PyGILState_Check() == 0) return state.next();
  nb::gil_scoped_release released;
  return state.next();
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  StreamState* state = StateOf(stream);
  auto batch = NextWithoutGil(*state);
  if (!batch.ok()) {
    state->error = batch.status().message();
    return EIO;
  }
  *out = {};
  if (!*batch) return 0;
  uint64_t rows = (*batch)->row_count;
  reader::ExportBatch(std::move((*batch)->columns), rows, out);
  return 0;
}

const char* GetLastError(ArrowArrayStream* stream) {
  return StateOf(stream)->error.c_str();
}

void ReleaseStream(ArrowArrayStream* stream) {
  delete StateOf(stream);
  stream->release = nullptr;
}

}  // namespace

// Arrow would only say that it does not know the format.
void CheckReadable(const ArrowFields& fields) {
  for (const model::Field* field : fields.fields) {
    if (!field->format.starts_with('?')) continue;
    throw StatusError(Status::Unsupported(
        fmt::format("column '{}' has the type {}, which is not read: leave it out with "
                    "columns=[…]",
                    field->name, field->format.substr(1))));
  }
}

nb::object SchemaCapsule(const ArrowFields& fields) {
  CheckReadable(fields);
  auto schema = std::make_unique<ArrowSchema>();
  Export(fields, schema.get());
  return Capsule(std::move(schema), "arrow_schema");
}

nb::tuple ArrayCapsules(const ArrowFields& fields, ArrowBatch batch) {
  auto array = std::make_unique<ArrowArray>();
  reader::ExportBatch(std::move(batch.columns), batch.row_count, array.get());
  nb::object array_capsule = Capsule(std::move(array), "arrow_array");
  return nb::make_tuple(SchemaCapsule(fields), array_capsule);
}

nb::object StreamCapsule(ArrowFields fields, NextArrowBatch next) {
  CheckReadable(fields);
  auto stream = std::make_unique<ArrowArrayStream>();
  stream->get_schema = GetSchema;
  stream->get_next = GetNext;
  stream->get_last_error = GetLastError;
  stream->release = ReleaseStream;
  stream->private_data = new StreamState{std::move(fields), std::move(next), {}};
  return Capsule(std::move(stream), "arrow_array_stream");
}

}  // namespace forebay::python
