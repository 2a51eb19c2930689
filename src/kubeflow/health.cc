#include "kubeflow/health.h"

namespace forebay::kubeflow {

http::Reply AnswerHealth(const http::Received& request,
                         const std::function<bool()>& ready) {
  auto say = [](int status, const char* text) {
    return http::Reply{.status = status, .body = text, .content_type = "text/plain"};
  };
  if (request.path == "/healthz") return say(200, "ok");
  if (request.path != "/ready") return say(404, "there are /ready and /healthz");
  return ready() ? say(200, "ready") : say(503, "not ready");
}

Result<std::unique_ptr<http::Server>> ServeHealth(const std::string& host, int port,
                                                  std::function<bool()> ready) {
  return http::Server::Start({.host = host, .port = port, .workers = 2},
                             [ready = std::move(ready)](const http::Received& request) {
                               return AnswerHealth(request, ready);
                             });
}

}  // namespace forebay::kubeflow
