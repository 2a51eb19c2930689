#include "table/filter/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace forebay::table::filter {
namespace {

// Around the place; longer texts are cut.
constexpr size_t kShownBytes = 60;

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, StartsCharacter));
}

size_t CharacterStart(std::string_view text, size_t offset) {
  while (offset > 0 && offset < text.size() && !StartsCharacter(text[offset])) --offset;
  return offset;
}

// On one line, whatever the text has in it.
std::string Flat(std::string_view text) {
  std::string flat(text);
  for (char& c : flat) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return flat;
}

}  // namespace

Status ErrorAt(std::string_view text, Place place, std::string_view message) {
  size_t offset = std::min<size_t>(place.offset, text.size());
  size_t begin =
      CharacterStart(text, offset > kShownBytes / 2 ? offset - kShownBytes / 2 : 0);
  size_t end = CharacterStart(text, std::min(text.size(), offset + kShownBytes));
  std::string_view cut_before = begin > 0 ? "…" : "";
  std::string_view cut_after = end < text.size() ? "…" : "";
  size_t indent =
      CountCharacters(cut_before) + CountCharacters(text.substr(begin, offset - begin));
  size_t piece_end = std::min<size_t>(offset + place.size, end);
  size_t carets =
      std::max<size_t>(CountCharacters(text.substr(offset, piece_end - offset)), 1);
  return Status::Invalid(fmt::format("filter, column {}: {}\n  {}{}{}\n  {}{}",
                                     CountCharacters(text.substr(0, offset)) + 1, message,
                                     cut_before, Flat(text.substr(begin, end - begin)),
                                     cut_after, std::string(indent, ' '),
                                     std::string(carets, '^')));
}

}  // namespace forebay::table::filter
