// Counters and gauges in the text that Prometheus reads.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace forebay {

class MetricsText {
 public:
  // Before the values of a metric. `type` is "counter" or "gauge".
  void Begin(const char* name, const char* type, const char* help) {
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  // `labels` as `node="a",tier="mem"`; may be empty.
  void Add(const char* name, const std::string& labels, uint64_t value) {
    out_ += labels.empty() ? fmt::format("{} {}\n", name, value)
                           : fmt::format("{}{{{}}} {}\n", name, labels, value);
  }
  void One(const char* name, const char* type, const char* help, uint64_t value) {
    Begin(name, type, help);
    Add(name, "", value);
  }
  std::string Take() { return std::move(out_); }

  // As the value of a label.
  static std::string Quoted(const std::string& value) {
    std::string out;
    for (char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
    return "\"" + out + "\"";
  }

 private:
  std::string out_;
};

}  // namespace forebay
