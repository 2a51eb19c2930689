// The words of a filter's text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "table/filter/place.h"

namespace forebay::table::filter {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,    // a bare name or a keyword
  kName,    // a quoted name
  kNumber,  // with its sign
  kString,
  kBytes,   // X'…'
  kSymbol,  // < <= > >= = == != <> ( ) , .
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // without quotes; of bytes: the bytes
  Place place;

  bool Is(std::string_view symbol) const {
    return kind == TokenKind::kSymbol && text == symbol;
  }
  // Keywords are words in any case.
  bool IsKeyword(std::string_view lower_case) const;
};

// Ends with a kEnd.
Result<std::vector<Token>> Tokenize(std::string_view text);

}  // namespace forebay::table::filter
