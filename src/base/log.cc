#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>

namespace forebay {

void InitLog(const char* program, spdlog::level::level_enum default_level) {
  auto logger = spdlog::stderr_color_mt(program);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n[%P] %l: %v");
  const char* wanted = std::getenv("FOREBAY_LOG");
  logger->set_level(wanted != nullptr ? spdlog::level::from_str(wanted) : default_level);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace forebay
