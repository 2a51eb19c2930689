#include "cache/failed_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/uri.h"

namespace forebay::cache {
namespace {

constexpr milliseconds kLookTime{10'000};  // at all of them together
constexpr size_t kNamesMax = 100;

// One byte is enough to hear that an object is gone, or another one.
Status Look(source::Source& source, const model::Object& object, Deadline deadline) {
  std::array<std::byte, 1> first{};
  size_t size = object.identity.size > 0 ? 1 : 0;
  return source.Read(object, 0, std::span(first).first(size), deadline);
}

bool Names(const Status& failure, const model::Object& object) {
  return failure.message().find(RedactUri(object.uri)) != std::string::npos;
}

}  // namespace

std::vector<std::string> FailedObjects(source::Source& source,
                                       const std::vector<model::Object>& objects,
                                       const Status& failure, Deadline deadline) {
  if (objects.empty()) return {failure.message()};
  // A fill that was cancelled says nothing about its objects.
  bool look = objects.size() > 1 && failure.code() != StatusCode::kCancelled;
  std::vector<std::string> failures;
  auto add = [&](const model::Object& object, const Status& why) {
    failures.push_back(fmt::format("{}: {}", RedactUri(object.uri), why.message()));
  };
  Deadline end = deadline.Within(kLookTime);
  for (const model::Object& object : objects) {
    if (!look || failures.size() == kNamesMax || end.passed()) break;
    Status status = Look(source, object, end);
    if (!status.ok() && status.code() != StatusCode::kDeadline) add(object, status);
  }
  if (!failures.empty()) return failures;
  auto named = std::ranges::find_if(
      objects, [&](const model::Object& object) { return Names(failure, object); });
  add(named == objects.end() ? objects[0] : *named, failure);
  return failures;
}

}  // namespace forebay::cache
