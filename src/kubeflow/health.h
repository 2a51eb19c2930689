// GET /ready for Kubernetes: 200 `ready`, or 503 `not ready`.
#pragma once

#include <functional>
#include <memory>

#include "http/server.h"

namespace forebay::kubeflow {

// `ready` is called by several threads, for each question.
http::Reply AnswerHealth(const http::Received& request,
                         const std::function<bool()>& ready);
Result<std::unique_ptr<http::Server>> ServeHealth(const std::string& host, int port,
                                                  std::function<bool()> ready);

}  // namespace forebay::kubeflow
