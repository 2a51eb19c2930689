#include "native/files.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "model/resolve_path.h"
#include "native/blocking.h"
#include "native/errors.h"
#include "native/open_arguments.h"
#include "reader/environment/source_environment.h"
#include "reader/files/remote_files.h"

namespace nb = nanobind;

namespace forebay::python {
namespace {

using reader::RemoteFiles;
using FilesPtr = std::shared_ptr<RemoteFiles>;

// Copies of more than this let other threads run meanwhile.
constexpr size_t kCopyHeldMax = 256 * 1024;

// Names are bytes; Python's are text with escapes for what is not UTF-8.
nb::object PathText(std::string_view path) {
  return nb::steal(PyUnicode_DecodeUTF8(path.data(), static_cast<Py_ssize_t>(path.size()),
                                        "surrogateescape"));
}

struct PathBytes {
  explicit PathBytes(nb::handle path)
      : bytes(nb::steal(
            PyUnicode_AsEncodedString(path.ptr(), "utf-8", "surrogateescape"))) {
    if (!bytes.is_valid()) throw nb::python_error();
  }
  std::string_view view() const {
    return {PyBytes_AS_STRING(bytes.ptr()),
            static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
  }
  nb::object bytes;
};

FilesPtr OpenFiles(const OpenArguments& arguments) {
  return Blocking(&arguments, [&] {
    return RemoteFiles::Open(arguments.uri, arguments.ToOptions());
  });
}

[[noreturn]] void RaiseOsError(int error, const char* message, nb::str path) {
  nb::object why = nb::make_tuple(error, message, path);
  PyErr_SetObject(PyExc_OSError, why.ptr());
  throw nb::python_error();
}

using Kind = model::ResolvedPath::Kind;

// The index of what a path leads to, if that is of this kind.
std::optional<uint32_t> Find(const RemoteFiles& files, nb::str path, Kind kind,
                             bool follow_last) {
  model::ResolvedPath found =
      model::ResolvePath(*files.manifest(), PathBytes(path).view(),
                         follow_last ? model::LastLink::kFollow : model::LastLink::kKeep);
  if (found.kind == Kind::kOutside) {
    RaiseOsError(EXDEV, "a link leads out of the tree", path);
  }
  if (found.kind == Kind::kLoop) RaiseOsError(ELOOP, "too many links", path);
  if (found.kind != kind) return std::nullopt;
  return found.index;
}

std::optional<uint32_t> FindFile(const RemoteFiles& files, nb::str path, bool follow) {
  return Find(files, path, Kind::kFile, follow);
}

std::optional<uint32_t> FindDirectory(const RemoteFiles& files, nb::str path,
                                      bool follow) {
  return Find(files, path, Kind::kDirectory, follow);
}

// Where a link leads, or None.
nb::object TargetText(const model::FilesManifest& manifest, uint32_t file) {
  if (!manifest.files()[file].is_link()) return nb::none();
  return PathText(manifest.link_target(file));
}

int64_t SizeOf(const model::FilesManifest& manifest, uint32_t file) {
  if (!manifest.files()[file].is_link()) return manifest.files()[file].size;
  return static_cast<int64_t>(manifest.link_target(file).size());
}

nb::list DirectoryNames(const RemoteFiles& files, uint32_t directory) {
  const model::FilesManifest& manifest = *files.manifest();
  nb::list names;
  if (directory >= manifest.directories().size()) return names;
  const model::DirectoryRecord& record = manifest.directories()[directory];
  for (uint32_t i = 0; i < record.directory_count; ++i) {
    uint32_t child = record.first_directory + i;
    if (child >= manifest.directories().size()) break;
    names.append(PathText(manifest.directory_name(child)));
  }
  return names;
}

// (name, size, mtime in ns, etag, target) of each.
nb::list DirectoryFiles(const RemoteFiles& files, uint32_t directory) {
  const model::FilesManifest& manifest = *files.manifest();
  nb::list out;
  if (directory >= manifest.directories().size()) return out;
  const model::DirectoryRecord& record = manifest.directories()[directory];
  for (uint32_t i = 0; i < record.file_count; ++i) {
    uint32_t file = record.first_file + i;
    if (file >= manifest.files().size()) break;
    out.append(nb::make_tuple(PathText(manifest.file_name(file)), SizeOf(manifest, file),
                              manifest.files()[file].mtime_ns,
                              PathText(manifest.etag(file)), TargetText(manifest, file)));
  }
  return out;
}

nb::tuple FileStat(const RemoteFiles& files, uint32_t file) {
  if (file >= files.manifest()->files().size()) {
    throw StatusError(Status::Invalid("no such file"));
  }
  const model::FilesManifest& manifest = *files.manifest();
  return nb::make_tuple(SizeOf(manifest, file), manifest.files()[file].mtime_ns,
                        PathText(manifest.etag(file)), TargetText(manifest, file));
}

size_t CopyInto(RemoteFiles& files, uint32_t file, uint64_t offset,
                std::span<std::byte> into) {
  // Mapped bytes need no other thread; the lock is held for no longer than a lookup.
  auto there = files.TryAt(file, offset);
  if (there && into.size() <= kCopyHeldMax &&
      (there->bytes.size() >= into.size() || there->bytes.empty())) {
    size_t count = std::min(there->bytes.size(), into.size());
    if (count > 0) std::memcpy(into.data(), there->bytes.data(), count);
    return count;
  }
  return Blocking(&files, [&] { return files.Read(file, offset, into); });
}

nb::object ReadFile(RemoteFiles& files, uint32_t file, uint64_t offset,
                    std::optional<uint64_t> size) {
  if (file >= files.manifest()->files().size()) {
    throw StatusError(Status::Invalid("no such file"));
  }
  auto total = static_cast<uint64_t>(files.manifest()->files()[file].size);
  uint64_t rest = offset < total ? total - offset : 0;
  uint64_t want = size ? std::min(*size, rest) : rest;
  nb::object bytes =
      nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(want)));
  if (!bytes.is_valid()) throw nb::python_error();
  if (want == 0) return bytes;
  std::span<std::byte> into(reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes.ptr())),
                            want);
  if (CopyInto(files, file, offset, into) != want) {
    throw StatusError(Status::Corrupt("a file is shorter than its manifest says"));
  }
  return bytes;
}

size_t ReadInto(RemoteFiles& files, uint32_t file, uint64_t offset, nb::handle target) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(target.ptr(), &buffer, PyBUF_WRITABLE) != 0) {
    throw nb::python_error();
  }
  std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> owned(&buffer, &PyBuffer_Release);
  return CopyInto(files, file, offset,
                  {static_cast<std::byte*>(buffer.buf), static_cast<size_t>(buffer.len)});
}

// (file, offset) pairs: all fills at once.
void Bring(RemoteFiles& files, const std::vector<std::pair<uint32_t, uint64_t>>& places) {
  std::vector<RemoteFiles::Place> wanted;
  wanted.reserve(places.size());
  for (const auto& [file, offset] : places) {
    if (file < files.manifest()->files().size()) wanted.push_back({file, offset});
  }
  Blocking(&files, [&]() -> Result<bool> {
    FB_RETURN_NOT_OK(files.Bring(wanted));
    return true;
  });
}

wire::WarmupState Warmup(RemoteFiles& files, const nb::object& progress) {
  return Blocking(&files, [&] {
    return files.Warmup([&](const wire::WarmupState& state) {
      if (!progress.is_none()) WithGil([&] { progress(nb::cast(state)); });
    });
  });
}

nb::list LeftOut(const RemoteFiles& files) {
  nb::list out;
  for (const std::string& name : files.manifest()->left_out()) out.append(PathText(name));
  return out;
}

}  // namespace

void BindFiles(nb::module_& m) {
  m.def("open_files", &OpenFiles);
  m.def("absolute_uri",
        [](const std::string& uri) { return Unwrap(reader::AbsoluteUri(uri)); });
  nb::class_<RemoteFiles>(m, "Files")
      .def_prop_ro("uri", [](const RemoteFiles& f) { return f.uri(); })
      .def_prop_ro("root",
                   [](const RemoteFiles& f) { return PathText(f.manifest()->root()); })
      .def_prop_ro("version",
                   [](const RemoteFiles& f) { return f.manifest()->version().ToHex(); })
      .def_prop_ro("file_count",
                   [](const RemoteFiles& f) { return f.manifest()->files().size(); })
      .def_prop_ro("file_bytes",
                   [](const RemoteFiles& f) { return f.manifest()->file_bytes(); })
      .def_prop_ro("left_out_count",
                   [](const RemoteFiles& f) { return f.manifest()->left_out_count(); })
      .def("left_out", &LeftOut)
      .def("find_file", &FindFile, nb::arg("path"), nb::arg("follow") = true)
      .def("find_directory", &FindDirectory, nb::arg("path"), nb::arg("follow") = true)
      .def("directory_names", &DirectoryNames)
      .def("directory_files", &DirectoryFiles)
      .def("stat", &FileStat)
      .def("read", &ReadFile, nb::arg("file"), nb::arg("offset") = 0,
           nb::arg("size").none() = nb::none())
      .def("read_into", &ReadInto)
      .def("bring", &Bring)
      .def("warmup", &Warmup, nb::arg("progress").none())
      .def("coverage",
           [](RemoteFiles& f) { return Blocking(&f, [&] { return f.Coverage(); }); })
      .def("node_pid",
           [](RemoteFiles& f) { return Blocking(&f, [&] { return f.NodePid(); }); });
}

}  // namespace forebay::python
