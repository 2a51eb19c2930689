#include "model/file_names.h"

namespace forebay::model {
namespace {

std::string_view WhyNoPart(std::string_view part) {
  if (part.empty()) return "a part of its name is empty";
  if (part == "." || part == "..") return "a part of its name is . or ..";
  if (part.size() > kNameBytesMax) return "a part of its name is longer than 255 bytes";
  return {};
}

}  // namespace

std::string_view WhyNoFileName(std::string_view path) {
  if (path.find('\0') != path.npos) return "its name has a NUL byte";
  if (path.size() > kPathBytesMax) return "its name is too long";
  for (;;) {
    size_t slash = path.find('/');
    std::string_view why = WhyNoPart(path.substr(0, slash));
    if (!why.empty() || slash == path.npos) return why;
    path.remove_prefix(slash + 1);
  }
}

std::string_view WhyNoLinkTarget(std::string_view target) {
  if (target.empty()) return "it is a link to nothing";
  if (target.size() > kTargetBytesMax) return "what it leads to has a name too long";
  if (target.find('\0') != target.npos) return "what it leads to has a NUL byte";
  return {};
}

}  // namespace forebay::model
