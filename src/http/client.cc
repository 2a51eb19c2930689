#include "http/client.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/size.h"
#include "base/uri.h"
#include "http/curl_handle.h"
#include "http/curl_status.h"

namespace forebay::http {
namespace {

// curl's timer may end a transfer a little before our clock says that time is up.
constexpr milliseconds kTimerSlack = milliseconds(20);

constexpr long kRedirectsMax = 5;
// Small enough that bytes are still in the processor's cache when they are used.
constexpr long kBufferBytes = 128 * kKiB;
// Less than this for so long is a dead connection too, though something arrives.
constexpr long kDripBytesPerSecond = 1024;
constexpr long kDripSeconds = 30;
constexpr size_t kIdleHandlesMax = 64;
constexpr size_t kHeaderBytesMax = 256 * kKiB;

void InitCurlOnce() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  FB_CHECK(code == CURLE_OK);
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void Append(HeaderList* list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list->get(), line.c_str());
  FB_CHECK(longer != nullptr);
  (void)list->release();
  list->reset(longer);
}

HeaderList MakeHeaders(const Request& request) {
  HeaderList list;
  for (const Header& header : request.headers) {
    Append(&list, header.name + ": " + header.value);
  }
  if (request.signing.has_value()) {
    // This curl hashes an empty payload wrongly for S3 unless told not to.
    Append(&list, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    if (!request.signing->session_token.empty()) {
      Append(&list, "x-amz-security-token: " + request.signing->session_token);
    }
  }
  return list;
}

// What one transfer's callbacks need.
struct Transfer {
  const BodySink& sink;
  Response response;
  std::chrono::seconds stall_timeout;
  size_t header_bytes = 0;
  Status sink_status{};
  curl_off_t arrived = 0;
  TimePoint arrived_at = std::chrono::steady_clock::now();
  bool stalled = false;
};

// Called about once a second, and more often while bytes arrive. curl's own low-speed
// limit looks back over several seconds, so it notices a stall in a fast transfer late.
int OnProgress(void* user, curl_off_t, curl_off_t arrived, curl_off_t, curl_off_t) {
  auto* transfer = static_cast<Transfer*>(user);
  auto now = std::chrono::steady_clock::now();
  if (arrived != transfer->arrived) {
    transfer->arrived = arrived;
    transfer->arrived_at = now;
  }
  transfer->stalled = now - transfer->arrived_at >= transfer->stall_timeout;
  return transfer->stalled ? 1 : 0;
}

std::string_view Trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && static_cast<unsigned char>(s.back()) <= ' ') s.remove_suffix(1);
  return s;
}

// "HTTP/1.1 206 Partial Content": a new head begins, after a redirect or a 100.
void StartHead(std::string_view line, Response* response) {
  *response = {};
  size_t space = line.find(' ');
  if (space == line.npos) return;
  auto status = ParseNumber(line.substr(space + 1, 3));
  response->status = static_cast<int>(status.value_or(0));
}

size_t OnHeader(char* data, size_t, size_t size, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  transfer->header_bytes += size;
  transfer->arrived_at = std::chrono::steady_clock::now();
  if (transfer->header_bytes > kHeaderBytesMax) return 0;
  std::string_view line = Trim({data, size});
  size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    StartHead(line, &transfer->response);
  } else if (colon != line.npos) {
    transfer->response.headers.push_back(
        {std::string(line.substr(0, colon)), std::string(Trim(line.substr(colon + 1)))});
  }
  return size;
}

size_t OnBody(char* data, size_t, size_t size, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  transfer->sink_status =
      transfer->sink(transfer->response, std::as_bytes(std::span(data, size)));
  return transfer->sink_status.ok() ? size : 0;
}

void SetSigning(CURL* curl, const Signing& signing) {
  std::string scope = "aws:amz:" + signing.region + ":" + signing.service;
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, scope.c_str());
  curl_easy_setopt(curl, CURLOPT_USERNAME, signing.access_key.c_str());
  curl_easy_setopt(curl, CURLOPT_PASSWORD, signing.secret_key.c_str());
}

// curl keeps the address: the request outlives the transfer.
void SetBody(CURL* curl, const std::string& body) {
  curl_easy_setopt(curl, CURLOPT_POST, 1L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
}

void SetRequest(CURL* curl, const Request& request) {
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, request.follow_redirects ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kRedirectsMax);
  // Ranges are fetched over several connections; one HTTP/2 connection would be slower.
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "forebay/" FOREBAY_VERSION);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, kBufferBytes);
  if (request.method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  if (request.method == "POST") SetBody(curl, request.body);
  if (request.method == "DELETE") curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
  if (request.signing.has_value()) SetSigning(curl, *request.signing);
}

struct Limits {
  milliseconds left;
  std::chrono::seconds stall;
};

void SetLimits(CURL* curl, const ClientOptions& options, const Limits& limits) {
  milliseconds left = limits.left;
  auto connect = std::min(left, options.connect_timeout);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kDripBytesPerSecond);
  // Whoever waits longer for a first byte means it.
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   std::max(kDripSeconds, static_cast<long>(limits.stall.count())));
  if (!options.ca_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, options.ca_file.c_str());
  }
}

void SetCallbacks(CURL* curl, Transfer* transfer) {
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
}

}  // namespace

// Idle curl handles, each with its open connections; the last used is taken first.
class Client::Handles {
 public:
  std::unique_ptr<CurlHandle> Take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    return CurlHandle::Make();
  }
  void Return(std::unique_ptr<CurlHandle> handle) {
    handle->Reset();
    std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleHandlesMax) idle_.push_back(std::move(handle));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CurlHandle>> idle_;
};

Client::Client(ClientOptions options)
    : options_(std::move(options)), handles_(std::make_unique<Handles>()) {
  InitCurlOnce();
}

Client::~Client() = default;

Result<Response> Client::Send(const Request& request, const BodySink& sink,
                              Deadline deadline) {
  milliseconds left = deadline.Remaining();
  std::string what = request.method + " " + RedactUri(request.url);
  if (deadline.stopped()) return Status::Cancelled("cancelled before " + what);
  if (left.count() == 0) return Status::Deadline("time was up before " + what);
  auto handle = handles_->Take();
  if (handle == nullptr) return Status::Full("no memory for a connection");

  auto stall =
      request.stall_timeout.count() > 0 ? request.stall_timeout : options_.stall_timeout;
  Transfer transfer{sink, {}, stall};
  HeaderList headers = MakeHeaders(request);
  char error[CURL_ERROR_SIZE] = "";
  CURL* curl = handle->get();
  SetRequest(curl, request);
  SetLimits(curl, options_, {left, stall});
  SetCallbacks(curl, &transfer);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  CURLcode code = handle->Perform(deadline.stop());
  handles_->Return(std::move(handle));

  if (!transfer.sink_status.ok()) return transfer.sink_status;
  if (code == CURLE_OK) return std::move(transfer.response);
  if (deadline.stopped()) return Status::Cancelled("cancelled during " + what);
  if (code == CURLE_OPERATION_TIMEDOUT && deadline.Remaining() <= kTimerSlack) {
    return Status::Deadline("time was up during " + what);
  }
  if (transfer.stalled) {
    return Status::Unavailable(what + ": nothing arrived for " +
                               std::to_string(stall.count()) + " s");
  }
  return FromCurl(code, error).WithContext(what);
}

}  // namespace forebay::http
