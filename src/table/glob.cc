#include "table/glob.h"

#include <vector>

namespace forebay::table {
namespace {

constexpr std::string_view kWildcards = "*?[";

std::vector<std::string_view> Segments(std::string_view path) {
  std::vector<std::string_view> out;
  while (true) {
    size_t slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == path.npos) return out;
    path.remove_prefix(slash + 1);
  }
}

bool IsHidden(std::string_view segment) {
  return segment.starts_with('.') || segment.starts_with('_');
}

// The position behind a set "[…]" that starts at `at`, or npos where it never closes.
size_t SetEnd(std::string_view pattern, size_t at) {
  size_t first = at + 1;
  if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
  size_t close = pattern.find(']', first + 1);
  return close == pattern.npos ? close : close + 1;
}

bool InSet(std::string_view set, char c) {
  bool negated = set.starts_with('!') || set.starts_with('^');
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found |= set[i] <= c && c <= set[i + 2];
      i += 2;
    } else {
      found |= set[i] == c;
    }
  }
  return found != negated;
}

// Matches one pattern item at `at` with `c`; returns the item's length, 0 for no match.
size_t MatchOne(std::string_view pattern, size_t at, char c) {
  if (pattern[at] == '?') return 1;
  if (pattern[at] == '[') {
    size_t end = SetEnd(pattern, at);
    if (end != pattern.npos) {
      return InSet(pattern.substr(at + 1, end - at - 2), c) ? end - at : 0;
    }
  }
  return pattern[at] == c ? 1 : 0;
}

// Linear in practice: on a mismatch only the last '*' is widened.
bool MatchSegment(std::string_view pattern, std::string_view text) {
  if (!pattern.empty() && kWildcards.find(pattern[0]) != kWildcards.npos &&
      IsHidden(text)) {
    return false;
  }
  size_t p = 0, t = 0, star = pattern.npos, mark = 0;
  while (t < text.size()) {
    size_t step = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
      continue;
    }
    if (p < pattern.size()) step = MatchOne(pattern, p, text[t]);
    if (step > 0) {
      p += step;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

using Parts = std::vector<std::string_view>;

// reach[j]: the pattern so far matches the first j segments of the path.
std::vector<bool> Step(const std::vector<bool>& reach, std::string_view part,
                       const Parts& path) {
  std::vector<bool> next(path.size() + 1, false);
  for (size_t j = 0; j <= path.size(); ++j) {
    if (part == "**") {
      bool carried = j > 0 && next[j - 1] && !IsHidden(path[j - 1]);
      next[j] = reach[j] || carried;
    } else if (j > 0) {
      next[j] = reach[j - 1] && MatchSegment(part, path[j - 1]);
    }
  }
  return next;
}

}  // namespace

bool IsGlob(std::string_view path) { return path.find_first_of(kWildcards) != path.npos; }

std::string_view GlobBase(std::string_view pattern) {
  size_t wild = pattern.find_first_of(kWildcards);
  if (wild == pattern.npos) return pattern;
  return pattern.substr(0, pattern.rfind('/', wild) + 1);
}

bool MatchesGlob(std::string_view pattern, std::string_view path) {
  Parts segments = Segments(path);
  std::vector<bool> reach(segments.size() + 1, false);
  reach[0] = true;
  for (std::string_view part : Segments(pattern)) reach = Step(reach, part, segments);
  for (size_t j = 1; j <= segments.size(); ++j) {
    if (!reach[j]) continue;
    bool hidden = false;
    for (size_t k = j; k < segments.size(); ++k) hidden |= IsHidden(segments[k]);
    if (!hidden) return true;
  }
  return false;
}

}  // namespace forebay::table
