#include "http/curl_handle.h"

namespace forebay::http {
namespace {

// Between two looks at a transfer in which nothing happens, as in curl_easy_perform.
constexpr int kLookMs = 1000;
// Upper bound on the open connections of one handle, as in curl_easy_perform.
constexpr long kConnectionsMax = 5;

CURLcode FromMulti(CURLMcode code) {
  return code == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT;
}

}  // namespace

std::unique_ptr<CurlHandle> CurlHandle::Make() {
  CURLM* multi = curl_multi_init();
  if (multi == nullptr) return nullptr;
  CURL* easy = curl_easy_init();
  if (easy == nullptr) {
    curl_multi_cleanup(multi);
    return nullptr;
  }
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, kConnectionsMax);
  return std::unique_ptr<CurlHandle>(new CurlHandle(multi, easy));
}

CurlHandle::~CurlHandle() {
  curl_easy_cleanup(easy_);
  curl_multi_cleanup(multi_);
}

CURLcode CurlHandle::Perform(const std::stop_token& stop) {
  CURLMcode added = curl_multi_add_handle(multi_, easy_);
  if (added != CURLM_OK) return FromMulti(added);
  CURLcode code = Drive(stop);
  curl_multi_remove_handle(multi_, easy_);
  return code;
}

CURLcode CurlHandle::Drive(const std::stop_token& stop) {
  std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_); });
  while (!stop.stop_requested()) {
    int running = 0;
    CURLMcode code = curl_multi_perform(multi_, &running);
    if (code == CURLM_OK && running == 0) return Outcome();
    if (code == CURLM_OK) code = curl_multi_poll(multi_, nullptr, 0, kLookMs, nullptr);
    if (code != CURLM_OK) return FromMulti(code);
  }
  return CURLE_ABORTED_BY_CALLBACK;
}

CURLcode CurlHandle::Outcome() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) return message->data.result;
  }
  return CURLE_FAILED_INIT;
}

}  // namespace forebay::http
