// A libcurl handle with the connections that it keeps open. Not thread-safe.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <stop_token>

namespace forebay::http {

class CurlHandle {
 public:
  // Null: there is no memory for one.
  static std::unique_ptr<CurlHandle> Make();
  ~CurlHandle();
  CurlHandle(const CurlHandle&) = delete;
  CurlHandle& operator=(const CurlHandle&) = delete;

  // For curl_easy_setopt.
  CURL* get() { return easy_; }
  // Forgets all options, keys and headers among them. Connections stay open.
  void Reset() { curl_easy_reset(easy_); }
  // As curl_easy_perform, but a requested stop ends it at once with
  // CURLE_ABORTED_BY_CALLBACK.
  CURLcode Perform(const std::stop_token& stop);

 private:
  CurlHandle(CURLM* multi, CURL* easy) : multi_(multi), easy_(easy) {}
  CURLcode Drive(const std::stop_token& stop);
  CURLcode Outcome();

  CURLM* multi_;  // has the connections
  CURL* easy_;
};

}  // namespace forebay::http
