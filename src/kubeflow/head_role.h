// The head of Kubeflow's data cache: loads the table into the workers, tells clients
// which worker serves which rows of their share, and says when all is ready.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "flight/service.h"
#include "head/head.h"
#include "head/head_service.h"
#include "http/server.h"
#include "kubeflow/loading.h"
#include "kubeflow/scratch.h"
#include "kubeflow/settings.h"

namespace forebay::kubeflow {

class HeadRole {
 public:
  static Result<std::unique_ptr<HeadRole>> Start(const Settings& settings);
  ~HeadRole();

 private:
  HeadRole(const Settings& settings, Scratch scratch)
      : settings_(settings), scratch_(std::move(scratch)) {}
  Status Begin();
  // Of the control plane: the head's own, but for /ready.
  http::Reply Answer(const http::Received& request);
  bool ready() const;
  Result<flight::PathFlight> FlightAt(const std::vector<std::string>& path) const;

  const Settings settings_;
  Scratch scratch_;
  std::unique_ptr<head::Head> head_;
  std::unique_ptr<head::HeadService> service_;
  std::unique_ptr<Loading> loading_;
  std::atomic<bool> begun_{false};  // the above are there
  std::unique_ptr<http::Server> control_;
  std::unique_ptr<http::Server> health_;
  std::unique_ptr<flight::Service> flight_;
};

}  // namespace forebay::kubeflow
