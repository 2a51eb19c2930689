#include "table/filter/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace forebay::table::filter {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool BeginsWord(char c) {
  return (Lower(c) >= 'a' && Lower(c) <= 'z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool ContinuesWord(char c) { return BeginsWord(c) || IsDigit(c) || c == '$'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  c = Lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    do {
      FB_ASSIGN_OR_RETURN(Token token, Next());
      tokens.push_back(std::move(token));
    } while (tokens.back().kind != TokenKind::kEnd);
    return tokens;
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  Token Make(TokenKind kind, size_t begin, std::string text) const {
    return {kind, std::move(text),
            Place{static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin)}};
  }

  Status Error(size_t begin, std::string_view message) const {
    return ErrorAt(text_,
                   {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin)},
                   message);
  }

  Result<Token> Next() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    if (at_ == text_.size()) return Make(TokenKind::kEnd, at_, "");
    size_t begin = at_;
    char c = text_[at_];
    if (c == '\'') return Quoted(TokenKind::kString);
    if (c == '"' || c == '`') return Quoted(TokenKind::kName);
    if (Lower(c) == 'x' && Peek(1) == '\'') return Bytes();
    if (BeginsWord(c)) {
      while (at_ < text_.size() && ContinuesWord(text_[at_])) ++at_;
      return Make(TokenKind::kWord, begin, std::string(text_.substr(begin, at_ - begin)));
    }
    if (BeginsNumber()) return Number();
    return Symbol();
  }

  // The quote itself is written twice inside.
  Result<Token> Quoted(TokenKind kind) {
    size_t begin = at_;
    char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size()) {
      char c = text_[at_++];
      if (c != quote) {
        value.push_back(c);
      } else if (Peek() == quote && at_ < text_.size()) {
        value.push_back(quote);
        ++at_;
      } else {
        return Make(kind, begin, std::move(value));
      }
    }
    at_ = begin + 1;
    return Error(begin,
                 fmt::format("this {} is never closed: add a {} where it ends",
                             kind == TokenKind::kString ? "string" : "name", quote));
  }

  Result<Token> Bytes() {
    size_t begin = at_++;
    FB_ASSIGN_OR_RETURN(Token token, Quoted(TokenKind::kString));
    std::string bytes;
    bool valid = token.text.size() % 2 == 0;
    for (size_t i = 0; valid && i < token.text.size(); i += 2) {
      int high = HexDigit(token.text[i]);
      int low = HexDigit(token.text[i + 1]);
      valid = high >= 0 && low >= 0;
      bytes.push_back(static_cast<char>(high * 16 + low));
    }
    if (!valid) return Error(begin, "bytes are written as pairs of hex digits: X'00ff'");
    return Make(TokenKind::kBytes, begin, std::move(bytes));
  }

  bool BeginsNumber() const {
    size_t sign = Peek() == '-' || Peek() == '+' ? 1 : 0;
    return IsDigit(Peek(sign)) || (Peek(sign) == '.' && IsDigit(Peek(sign + 1)));
  }

  Result<Token> Number() {
    size_t begin = at_;
    if (!IsDigit(Peek()) && Peek() != '.') ++at_;
    while (IsDigit(Peek())) ++at_;
    if (Peek() == '.') ++at_;
    while (IsDigit(Peek())) ++at_;
    if (Lower(Peek()) == 'e') {
      size_t sign = Peek(1) == '-' || Peek(1) == '+' ? 1 : 0;
      if (IsDigit(Peek(1 + sign))) {
        at_ += 1 + sign;
        while (IsDigit(Peek())) ++at_;
      }
    }
    bool complete = !ContinuesWord(Peek()) && Peek() != '.';
    while (ContinuesWord(Peek()) || Peek() == '.') ++at_;
    std::string number(text_.substr(begin, at_ - begin));
    if (!complete) {
      return Error(begin,
                   "this is not a number: put text in 'single quotes' and names "
                   "that begin with a digit in \"double quotes\"");
    }
    return Make(TokenKind::kNumber, begin, std::move(number));
  }

  Result<Token> Symbol() {
    static constexpr std::array<std::string_view, 12> kSymbols = {
        "<=", ">=", "==", "!=", "<>", "<", ">", "=", "(", ")", ",", "."};
    size_t begin = at_;
    for (std::string_view symbol : kSymbols) {
      if (text_.substr(at_).starts_with(symbol)) {
        at_ += symbol.size();
        return Make(TokenKind::kSymbol, begin, std::string(symbol));
      }
    }
    ++at_;
    return Error(
        begin,
        "this character has no meaning here: names with other characters than "
        "letters, digits and _ go in \"double quotes\", text in 'single quotes'");
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool Token::IsKeyword(std::string_view lower_case) const {
  return kind == TokenKind::kWord &&
         std::ranges::equal(text, lower_case, {}, [](char c) { return Lower(c); });
}

Result<std::vector<Token>> Tokenize(std::string_view text) {
  return Tokenizer(text).Run();
}

}  // namespace forebay::table::filter
