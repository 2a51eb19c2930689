#include "source/xml.h"

#include <charconv>
#include <cstdint>
#include <vector>

namespace forebay::source {
namespace {

constexpr size_t kDepthMax = 16;

Status Malformed(std::string_view why) {
  return Status::Corrupt("the server sent XML that can't be read: " + std::string(why));
}

void AppendUtf8(uint32_t code, std::string* out) {
  auto put = [out](uint32_t byte) { *out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool AppendNumeric(std::string_view digits, std::string* out) {
  bool hex = digits.starts_with('x') || digits.starts_with('X');
  if (hex) digits.remove_prefix(1);
  uint32_t code = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  if (code == 0 || code > 0x10FFFF) return false;
  AppendUtf8(code, out);
  return true;
}

bool AppendEntity(std::string_view name, std::string* out) {
  if (name == "amp") return *out += '&', true;
  if (name == "lt") return *out += '<', true;
  if (name == "gt") return *out += '>', true;
  if (name == "quot") return *out += '"', true;
  if (name == "apos") return *out += '\'', true;
  return name.starts_with('#') && AppendNumeric(name.substr(1), out);
}

bool AppendText(std::string_view raw, std::string* out) {
  while (!raw.empty()) {
    size_t mark = std::min(raw.find('&'), raw.size());
    out->append(raw.substr(0, mark));
    raw.remove_prefix(mark);
    if (raw.empty()) return true;
    size_t end = raw.find(';');
    if (end == raw.npos || !AppendEntity(raw.substr(1, end - 1), out)) return false;
    raw.remove_prefix(end + 1);
  }
  return true;
}

class Parser {
 public:
  Parser(std::string_view document, const OnElement& on_element)
      : rest_(document), on_element_(on_element) {}

  Status Run() {
    while (!rest_.empty()) {
      size_t mark = std::min(rest_.find('<'), rest_.size());
      if (!open_.empty() && !AppendText(rest_.substr(0, mark), &open_.back().text)) {
        return Malformed("an unknown entity");
      }
      rest_.remove_prefix(mark);
      if (!rest_.empty()) FB_RETURN_NOT_OK(Tag());
    }
    if (!open_.empty() || !seen_) return Malformed("it ends early");
    return Status::OK();
  }

 private:
  struct Open {
    size_t path_size;  // of path_ before this element
    std::string text;
  };

  Status Tag() {
    if (rest_.starts_with("<?")) return SkipTo("?>");
    if (rest_.starts_with("<!--")) return SkipTo("-->");
    if (rest_.starts_with("<!")) return Malformed("declarations are not allowed");
    size_t end = rest_.find('>');
    if (end == rest_.npos) return Malformed("a tag is not closed");
    std::string_view tag = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (tag.starts_with('/')) return Close(tag.substr(1));
    bool empty = tag.ends_with('/');
    if (empty) tag.remove_suffix(1);
    std::string_view name = tag.substr(0, tag.find_first_of(" \t\r\n"));
    FB_RETURN_NOT_OK(OpenElement(name));
    return empty ? Close(name) : Status::OK();
  }

  Status OpenElement(std::string_view name) {
    if (name.empty()) return Malformed("a tag has no name");
    if (open_.size() >= kDepthMax) return Malformed("it is nested too deeply");
    open_.push_back({path_.size(), {}});
    if (!path_.empty()) path_ += '/';
    path_ += name;
    seen_ = true;
    return Status::OK();
  }

  Status Close(std::string_view name) {
    name = name.substr(0, name.find_first_of(" \t\r\n"));
    std::string_view path = path_;
    if (open_.empty() || path.substr(path.rfind('/') + 1) != name) {
      return Malformed("tags do not match");
    }
    on_element_(path_, open_.back().text);
    path_.resize(open_.back().path_size);
    open_.pop_back();
    return Status::OK();
  }

  Status SkipTo(std::string_view mark) {
    size_t end = rest_.find(mark);
    if (end == rest_.npos) return Malformed("a comment is not closed");
    rest_.remove_prefix(end + mark.size());
    return Status::OK();
  }

  std::string_view rest_;
  const OnElement& on_element_;
  std::string path_;
  std::vector<Open> open_;
  bool seen_ = false;
};

}  // namespace

Status ParseXml(std::string_view document, const OnElement& on_element) {
  return Parser(document, on_element).Run();
}

std::string FindXmlText(std::string_view document, std::string_view name) {
  std::string found;
  bool first = true;
  Status status = ParseXml(document, [&](std::string_view path, const std::string& text) {
    if (first && path.substr(path.rfind('/') + 1) == name) {
      found = text;
      first = false;
    }
  });
  return status.ok() ? found : std::string();
}

}  // namespace forebay::source
