#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <utility>

#include "base/log_level.h"

namespace forebay {

void InitLog(const char* program, spdlog::level::level_enum default_level) {
  spdlog::drop(program);  // tests call mains more than once
  auto logger = spdlog::stderr_color_mt(program);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n[%P] %l: %v");
  auto level = LogLevel(default_level);  // mains refuse what is none: CheckLogLevel()
  logger->set_level(level.ok() ? *level : default_level);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace forebay
