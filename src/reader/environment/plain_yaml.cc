#include "reader/environment/plain_yaml.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace forebay::reader {
namespace {

struct Line {
  size_t number;
  size_t indent;
  std::string_view content;  // without indentation and line end
};

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

std::string_view TrimLeft(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  return text;
}

std::vector<Line> SplitLines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<Line> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    size_t indent = std::min(line.find_first_not_of(' '), line.size());
    lines.push_back({number, indent, line.substr(indent)});
  }
  return lines;
}

Status Wrong(const Line& line, std::string_view what) {
  return Status::Invalid("line " + std::to_string(line.number) + ": " +
                         std::string(what));
}

bool SaysNothing(const Line& line) {
  return TrimRight(line.content).empty() || line.content.starts_with('#');
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xc0 | code >> 6);
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *out += static_cast<char>(0xe0 | code >> 12);
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// The escape after a backslash; moves `rest` past it. False: none that is known.
bool TakeEscape(std::string_view* rest, std::string* out) {
  constexpr std::pair<char, char> kPlain[] = {{'n', '\n'}, {'t', '\t'},  {'r', '\r'},
                                              {'"', '"'},  {'\\', '\\'}, {'/', '/'},
                                              {'0', '\0'}, {' ', ' '}};
  if (rest->empty()) return false;
  char kind = rest->front();
  rest->remove_prefix(1);
  for (const auto& [name, meaning] : kPlain) {
    if (name == kind) {
      *out += meaning;
      return true;
    }
  }
  size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 0;
  if (digits == 0 || rest->size() < digits) return false;
  uint32_t code = 0;
  for (char c : rest->substr(0, digits)) {
    size_t digit = std::string_view("0123456789abcdef").find(c | 0x20);
    if (digit == std::string_view::npos) return false;
    code = code << 4 | static_cast<uint32_t>(digit);
  }
  rest->remove_prefix(digits);
  AppendUtf8(code, out);
  return true;
}

// A quoted text at the front of `rest`, which is moved past it. nullopt: it does not end.
std::optional<std::string> TakeQuoted(std::string_view* rest) {
  char quote = rest->front();
  rest->remove_prefix(1);
  std::string out;
  while (!rest->empty()) {
    char c = rest->front();
    rest->remove_prefix(1);
    if (c == quote) {
      if (quote == '"' || !rest->starts_with('\'')) return out;
      rest->remove_prefix(1);  // '' is one quote
      out += '\'';
    } else if (c == '\\' && quote == '"') {
      if (!TakeEscape(rest, &out)) return std::nullopt;
    } else {
      out += c;
    }
  }
  return std::nullopt;
}

bool StartsQuoted(std::string_view text) {
  return text.starts_with('"') || text.starts_with('\'');
}

// "key:" or "key: …" at the front of `rest`, which is moved past the colon.
std::optional<std::string> TakeKey(std::string_view* rest) {
  if (StartsQuoted(*rest)) {
    auto key = TakeQuoted(rest);
    *rest = TrimLeft(*rest);
    if (!key || !rest->starts_with(':')) return std::nullopt;
    rest->remove_prefix(1);
    return key;
  }
  for (size_t at = rest->find(':'); at != rest->npos; at = rest->find(':', at + 1)) {
    if (at + 1 < rest->size() && (*rest)[at + 1] != ' ' && (*rest)[at + 1] != '\t') {
      continue;
    }
    std::string key(TrimRight(rest->substr(0, at)));
    rest->remove_prefix(at + 1);
    if (key.empty()) return std::nullopt;
    return key;
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(SplitLines(text)) {}

  Result<std::vector<YamlEntry>> Run() {
    for (at_ = 0; at_ < lines_.size();) {
      const Line& line = lines_[at_];
      if (SaysNothing(line) || line.content == "---" || line.content == "...") {
        ++at_;
      } else if (line.content == "-" || line.content.starts_with("- ")) {
        SkipDeeperThan(line.indent);
      } else {
        FB_RETURN_NOT_OK(TakeLine(line));
      }
    }
    return std::move(entries_);
  }

 private:
  struct Level {
    size_t indent;
    std::string key;
  };

  void SkipDeeperThan(size_t indent) {
    for (++at_; at_ < lines_.size(); ++at_) {
      if (!SaysNothing(lines_[at_]) && lines_[at_].indent <= indent) return;
    }
  }

  Status TakeLine(const Line& line) {
    if (line.content.starts_with('\t'))
      return Wrong(line, "indent with blanks, not tabs");
    std::string_view rest = line.content;
    auto key = TakeKey(&rest);
    if (!key) return Wrong(line, "this is not 'key: value'");
    while (!levels_.empty() && levels_.back().indent >= line.indent) levels_.pop_back();
    levels_.push_back({line.indent, *std::move(key)});
    rest = TrimLeft(rest);
    ++at_;
    if (rest.empty() || rest.starts_with('#')) return Status::OK();  // a block may follow
    if (rest.starts_with('|') || rest.starts_with('>')) return TakeBlock(line, rest);
    return TakeText(line, rest);
  }

  Status TakeText(const Line& line, std::string_view rest) {
    std::string text;
    if (StartsQuoted(rest)) {
      auto quoted = TakeQuoted(&rest);
      rest = TrimLeft(rest);
      if (!quoted || !(rest.empty() || rest.starts_with('#'))) {
        return Wrong(line, "the quotes do not end, or something follows them");
      }
      text = *std::move(quoted);
    } else {
      if (std::string_view("{[&*!%@`").find(rest.front()) != std::string_view::npos) {
        return Wrong(line,
                     "only plain texts and indented blocks are read: put a text "
                     "that begins so in quotes");
      }
      size_t comment = std::min(rest.find(" #"), rest.size());
      text = std::string(TrimRight(rest.substr(0, comment)));
    }
    if (at_ < lines_.size() && !SaysNothing(lines_[at_]) &&
        lines_[at_].indent > line.indent) {
      return Wrong(lines_[at_], "this is indented below a key that has a text already");
    }
    return Add(line, std::move(text));
  }

  // Everything that is indented deeper: "|" keeps line ends, ">" makes them blanks.
  Status TakeBlock(const Line& line, std::string_view mark) {
    char joint = mark.front() == '|' ? '\n' : ' ';
    std::string text;
    for (; at_ < lines_.size(); ++at_) {
      bool blank = TrimRight(lines_[at_].content).empty();
      if (!blank && lines_[at_].indent <= line.indent) break;
      if (!text.empty()) text += joint;
      text += lines_[at_].content;
    }
    while (text.ends_with(joint)) text.pop_back();
    return Add(line, std::move(text));
  }

  Status Add(const Line& line, std::string text) {
    YamlEntry entry{{}, std::move(text)};
    for (const Level& level : levels_) entry.path.push_back(level.key);
    for (const YamlEntry& other : entries_) {
      if (other.path == entry.path) return Wrong(line, "the key is there twice");
    }
    entries_.push_back(std::move(entry));
    return Status::OK();
  }

  std::vector<Line> lines_;
  size_t at_ = 0;
  std::vector<Level> levels_;
  std::vector<YamlEntry> entries_;
};

}  // namespace

Result<std::vector<YamlEntry>> ParsePlainYaml(std::string_view text) {
  return Parser(text).Run();
}

}  // namespace forebay::reader
