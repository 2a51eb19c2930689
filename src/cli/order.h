// What `forebay order` shows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan/order.h"
#include "plan/quality.h"

namespace forebay::cli {

// An order and the table it is of, real or made up.
struct OrderSubject {
  std::string uri;  // empty for a made-up table
  plan::Order::Options order;
  uint64_t batch_size = 1024;
  std::vector<plan::FileRun> files;
};

struct OrderComparison {
  plan::OrderQuality order;
  plan::OrderQuality fisher_yates;
};

nlohmann::ordered_json OrderJson(const OrderSubject& subject,
                                 const std::vector<uint64_t>& rows);
std::string OrderText(const std::vector<uint64_t>& rows);

nlohmann::ordered_json QualityJson(const OrderSubject& subject,
                                   const OrderComparison& comparison);
std::string QualityText(const OrderSubject& subject, const OrderComparison& comparison);

}  // namespace forebay::cli
