#include "flight/flight_status.h"

#include <arrow/flight/types.h>

#include <charconv>
#include <optional>

#include "base/arrow_status.h"

namespace forebay::flight {
namespace {

using arrow::flight::FlightStatusCode;
using arrow::flight::FlightStatusDetail;

constexpr std::string_view kMark = "forebay:";
// gRPC adds where in its own code the error was seen; nobody here can act on that.
constexpr std::string_view kNoise[] = {
    ". gRPC client debug context:", ". Client context:", ". Detail:"};

arrow::Status WithCode(FlightStatusCode code, const Status& status) {
  return arrow::flight::MakeFlightError(
      code, status.message(),
      std::string(kMark) + std::to_string(static_cast<int>(status.code())));
}

std::optional<StatusCode> MarkedCode(const std::string& text) {
  if (!text.starts_with(kMark)) return std::nullopt;
  int code = 0;
  const char* first = text.data() + kMark.size();
  auto [end, error] = std::from_chars(first, text.data() + text.size(), code);
  bool known = error == std::errc() && end == text.data() + text.size() && code > 0 &&
               code <= static_cast<int>(StatusCode::kInternal);
  if (!known) return std::nullopt;
  return static_cast<StatusCode>(code);
}

StatusCode CodeOf(FlightStatusCode code) {
  switch (code) {
    case FlightStatusCode::Internal: return StatusCode::kInternal;
    case FlightStatusCode::TimedOut: return StatusCode::kDeadline;
    case FlightStatusCode::Cancelled: return StatusCode::kCancelled;
    case FlightStatusCode::Unauthenticated: return StatusCode::kPermission;
    case FlightStatusCode::Unauthorized: return StatusCode::kPermission;
    case FlightStatusCode::Unavailable: return StatusCode::kUnavailable;
    case FlightStatusCode::Failed: return StatusCode::kInternal;
  }
  return StatusCode::kInternal;
}

std::string Sentence(const std::string& message) {
  size_t end = message.size();
  for (std::string_view noise : kNoise) end = std::min(end, message.find(noise));
  return message.substr(0, end);
}

}  // namespace

arrow::Status ToFlight(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return arrow::Status::OK();
    // These three have gRPC codes of their own, which a detail would hide.
    case StatusCode::kInvalid: return arrow::Status::Invalid(status.message());
    case StatusCode::kNotFound: return arrow::Status::KeyError(status.message());
    case StatusCode::kUnsupported: return arrow::Status::NotImplemented(status.message());
    case StatusCode::kPermission: return WithCode(FlightStatusCode::Unauthorized, status);
    case StatusCode::kFull:
    case StatusCode::kUnavailable: return WithCode(FlightStatusCode::Unavailable, status);
    case StatusCode::kDeadline: return WithCode(FlightStatusCode::TimedOut, status);
    case StatusCode::kCancelled: return WithCode(FlightStatusCode::Cancelled, status);
    case StatusCode::kChanged: return WithCode(FlightStatusCode::Failed, status);
    case StatusCode::kCorrupt:
    case StatusCode::kInternal: return WithCode(FlightStatusCode::Internal, status);
  }
  return WithCode(FlightStatusCode::Internal, status);
}

Status FromFlight(const arrow::Status& status) {
  if (status.ok()) return Status::OK();
  std::string message = Sentence(status.message());
  auto detail = FlightStatusDetail::UnwrapStatus(status);
  if (detail == nullptr) return FromArrow(status.WithMessage(message));
  auto marked = MarkedCode(detail->extra_info());
  return {marked.value_or(CodeOf(detail->code())), std::move(message)};
}

}  // namespace forebay::flight
