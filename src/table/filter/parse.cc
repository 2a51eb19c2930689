#include "table/filter/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "table/filter/token.h"

namespace forebay::table::filter {
namespace {

using Kind = Expression::Kind;

// What can't be a bare column name.
constexpr std::array<std::string_view, 10> kReserved = {
    "and", "or", "not", "in", "is", "null", "like", "between", "true", "false"};

std::optional<Operator> Comparison(const Token& token) {
  if (token.kind != TokenKind::kSymbol) return std::nullopt;
  if (token.text == "<") return Operator::kLess;
  if (token.text == "<=") return Operator::kLessEqual;
  if (token.text == ">") return Operator::kGreater;
  if (token.text == ">=") return Operator::kGreaterEqual;
  if (token.text == "=" || token.text == "==") return Operator::kEqual;
  if (token.text == "!=" || token.text == "<>") return Operator::kNotEqual;
  return std::nullopt;
}

// 5 < x is x > 5.
Operator Mirrored(Operator op) {
  switch (op) {
    case Operator::kLess: return Operator::kGreater;
    case Operator::kLessEqual: return Operator::kGreaterEqual;
    case Operator::kGreater: return Operator::kLess;
    case Operator::kGreaterEqual: return Operator::kLessEqual;
    default: return op;
  }
}

Place Span(Place first, Place last) {
  return {first.offset, last.offset + last.size - first.offset};
}

Expression MakePredicate(ColumnName column, Operator op, std::vector<Literal> literals) {
  return {.kind = Kind::kPredicate,
          .column = std::move(column),
          .op = op,
          .literals = std::move(literals)};
}

Expression Join(Kind kind, std::vector<Expression> children) {
  if (children.size() == 1) return std::move(children.front());
  return {.kind = kind, .children = std::move(children)};
}

Expression Negated(Expression expression) {
  Expression negated{.kind = Kind::kNot};
  negated.children.push_back(std::move(expression));
  return negated;
}

// Recursive descent; every level of parentheses and "not" counts against kDepthMax.
class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  Result<Expression> Run() {
    FB_ASSIGN_OR_RETURN(Expression root, Or());
    if (Peek().Is(")")) return Error(Peek(), "there is no '(' for this ')'");
    if (Peek().kind != TokenKind::kEnd) {
      return Error(Peek(), "expected 'and', 'or' or the end of the filter here");
    }
    return root;
  }

 private:
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token Take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_.back(); }
  bool Accept(std::string_view symbol) {
    if (!Peek().Is(symbol)) return false;
    ++at_;
    return true;
  }
  bool AcceptKeyword(std::string_view keyword) {
    if (!Peek().IsKeyword(keyword)) return false;
    ++at_;
    return true;
  }
  Status Error(const Token& token, std::string_view message) const {
    return ErrorAt(text_, token.place, message);
  }

  Result<Expression> Or() { return Chain(Kind::kOr, "or", &Parser::And); }
  Result<Expression> And() { return Chain(Kind::kAnd, "and", &Parser::Not); }

  Result<Expression> Chain(Kind kind, std::string_view keyword,
                           Result<Expression> (Parser::*part)()) {
    std::vector<Expression> children;
    do {
      FB_ASSIGN_OR_RETURN(Expression child, (this->*part)());
      children.push_back(std::move(child));
    } while (AcceptKeyword(keyword));
    return Join(kind, std::move(children));
  }

  Result<Expression> Not() {
    bool negated = Peek().IsKeyword("not");
    if (!negated && !Peek().Is("(")) return PredicateHere();
    if (depth_ == Filter::kDepthMax) {
      return Error(Peek(), fmt::format("the filter nests deeper than {} levels: write it "
                                       "with fewer parentheses and 'not's",
                                       Filter::kDepthMax));
    }
    ++depth_;
    Token opening = Take();
    Result<Expression> inner = negated ? Not() : Or();
    --depth_;
    FB_ASSIGN_OR_RETURN(Expression expression, std::move(inner));
    if (negated) return Negated(std::move(expression));
    if (!Accept(")")) return Error(opening, "this '(' is never closed: add a ')'");
    return expression;
  }

  bool AtLiteral() const {
    const Token& token = Peek();
    if (token.kind == TokenKind::kNumber || token.kind == TokenKind::kString ||
        token.kind == TokenKind::kBytes) {
      return true;
    }
    return token.IsKeyword("true") || token.IsKeyword("false") ||
           token.IsKeyword("null") || AtTypedString();
  }

  // date '2026-10-01': the type is the column's anyway.
  bool AtTypedString() const {
    return Peek(1).kind == TokenKind::kString &&
           (Peek().IsKeyword("date") || Peek().IsKeyword("time") ||
            Peek().IsKeyword("timestamp"));
  }

  Result<Expression> PredicateHere() {
    if (AtLiteral()) return LiteralFirst();
    FB_ASSIGN_OR_RETURN(ColumnName column, Column());
    if (AcceptKeyword("is")) return Is(std::move(column));
    bool negated = AcceptKeyword("not");
    if (Peek().IsKeyword("in") || Peek().IsKeyword("like") ||
        Peek().IsKeyword("between")) {
      FB_ASSIGN_OR_RETURN(Expression found, WordPredicate(std::move(column)));
      return negated ? Negated(std::move(found)) : Result<Expression>(std::move(found));
    }
    if (negated) {
      return Error(Peek(), "expected 'in', 'like' or 'between' after 'not' here");
    }
    if (auto op = Comparison(Peek())) {
      Take();
      FB_ASSIGN_OR_RETURN(Literal literal, LiteralHere());
      return MakePredicate(std::move(column), *op, {std::move(literal)});
    }
    if (Peek().kind == TokenKind::kEnd || Peek().Is(")") || Peek().IsKeyword("and") ||
        Peek().IsKeyword("or")) {
      return Expression{.kind = Kind::kColumn, .column = std::move(column)};
    }
    return Error(Peek(), "expected a comparison, 'in', 'between', 'like' or 'is' here");
  }

  Result<Expression> WordPredicate(ColumnName column) {
    if (AcceptKeyword("in")) return In(std::move(column));
    if (AcceptKeyword("like")) return Like(std::move(column));
    Take();
    FB_ASSIGN_OR_RETURN(Literal low, LiteralHere());
    if (!AcceptKeyword("and")) {
      return Error(Peek(),
                   "expected 'and' here: between takes two values, as in "
                   "between 1 and 5");
    }
    FB_ASSIGN_OR_RETURN(Literal high, LiteralHere());
    std::vector<Expression> ends;
    ends.push_back(MakePredicate(column, Operator::kGreaterEqual, {std::move(low)}));
    ends.push_back(
        MakePredicate(std::move(column), Operator::kLessEqual, {std::move(high)}));
    return Join(Kind::kAnd, std::move(ends));
  }

  // 5 < x, or a constant.
  Result<Expression> LiteralFirst() {
    bool constant = Peek().IsKeyword("true") || Peek().IsKeyword("false");
    if (constant && !Comparison(Peek(1))) {
      return Expression{.kind = Kind::kConstant, .value = Take().IsKeyword("true")};
    }
    FB_ASSIGN_OR_RETURN(Literal literal, LiteralHere());
    auto op = Comparison(Peek());
    if (!op) {
      return Error(Peek(), "expected a comparison with a column here, as in 5 < x");
    }
    Take();
    if (AtLiteral()) {
      return Error(Peek(),
                   "expected a column here: one side of a comparison must be one");
    }
    FB_ASSIGN_OR_RETURN(ColumnName column, Column());
    return MakePredicate(std::move(column), Mirrored(*op), {std::move(literal)});
  }

  Result<Expression> Is(ColumnName column) {
    bool negated = AcceptKeyword("not");
    if (AcceptKeyword("null")) {
      return MakePredicate(std::move(column),
                           negated ? Operator::kIsNotNull : Operator::kIsNull, {});
    }
    if (AcceptKeyword("nan")) {
      return MakePredicate(std::move(column),
                           negated ? Operator::kIsNotNan : Operator::kIsNan, {});
    }
    return Error(Peek(),
                 "expected 'null' or 'nan' here: 'is' compares with nothing else");
  }

  Result<Expression> In(ColumnName column) {
    if (!Accept("(")) {
      return Error(Peek(), "expected a list in parentheses here, as in (1, 2, 3)");
    }
    std::vector<Literal> literals;
    do {
      FB_ASSIGN_OR_RETURN(Literal literal, LiteralHere());
      literals.push_back(std::move(literal));
    } while (Accept(","));
    if (!Accept(")")) return Error(Peek(), "expected ',' or ')' here: the list goes on");
    return MakePredicate(std::move(column), Operator::kIn, std::move(literals));
  }

  // Prefixes only: "abc%". A pattern without wildcards is an equality.
  Result<Expression> Like(ColumnName column) {
    Token token = Take();
    if (token.kind != TokenKind::kString) {
      return Error(token, "expected a pattern in 'single quotes' here, as in 'abc%'");
    }
    std::string prefix;
    bool open = false;
    for (size_t i = 0; i < token.text.size(); ++i) {
      char c = token.text[i];
      bool last = i + 1 == token.text.size();
      if (c == '%' && last) {
        open = true;
      } else if (c == '%' || c == '_' || (c == '\\' && last)) {
        return Error(token,
                     "only prefixes can be matched, as in 'abc%': write \\% and "
                     "\\_ for these characters themselves");
      } else {
        prefix.push_back(c == '\\' ? token.text[++i] : c);
      }
    }
    Literal literal{Literal::Kind::kString, std::move(prefix), token.place};
    return MakePredicate(std::move(column),
                         open ? Operator::kStartsWith : Operator::kEqual,
                         {std::move(literal)});
  }

  Result<Literal> LiteralHere() {
    if (AtTypedString()) ++at_;
    Token token = Take();
    switch (token.kind) {
      case TokenKind::kNumber:
        return Literal{Literal::Kind::kNumber, std::move(token.text), token.place};
      case TokenKind::kString:
        return Literal{Literal::Kind::kString, std::move(token.text), token.place};
      case TokenKind::kBytes:
        return Literal{Literal::Kind::kBytes, std::move(token.text), token.place};
      default: break;
    }
    for (std::string_view keyword : {"true", "false"}) {
      if (token.IsKeyword(keyword)) {
        return Literal{Literal::Kind::kBoolean, std::string(keyword), token.place};
      }
    }
    if (token.IsKeyword("null")) {
      return Error(token,
                   "a comparison with null is never true: write 'is null' or 'is "
                   "not null'");
    }
    if (token.kind == TokenKind::kWord || token.kind == TokenKind::kName) {
      return Error(token,
                   "expected a value here, and two columns can't be compared: put "
                   "text in 'single quotes'");
    }
    return Error(token, "expected a value here: a number, 'text', true or false");
  }

  Result<ColumnName> Column() {
    ColumnName column;
    Place first = Peek().place;
    do {
      Token token = Take();
      if (token.kind == TokenKind::kWord) {
        auto is = [&](std::string_view word) { return token.IsKeyword(word); };
        if (std::ranges::any_of(kReserved, is)) {
          return Error(token,
                       "expected a column here: a column of this name goes in "
                       "\"double quotes\"");
        }
      } else if (token.kind != TokenKind::kName) {
        return Error(token, "expected a column or a value here");
      }
      column.place = Span(first, token.place);
      column.parts.push_back({std::move(token.text), token.kind == TokenKind::kName});
    } while (Accept("."));
    return column;
  }

  const std::string_view text_;
  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

// Of a character, by its first byte; 0: none begins so.
size_t Utf8Length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// Messages quote the text, so it must be text.
bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i]);
    size_t length = Utf8Length(lead);
    if (length == 0 || text.size() - i < length) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    // Overlong forms, surrogates, beyond the last code point.
    int second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
      return false;
    }
    i += length;
  }
  return true;
}

}  // namespace

Result<Filter> Filter::Parse(std::string_view text) {
  if (text.size() > kTextBytesMax) {
    return Status::Invalid(
        fmt::format("the filter has {} bytes and may have {}: filter by a range, or "
                    "join the rows you want in your own code",
                    text.size(), kTextBytesMax));
  }
  if (!IsUtf8(text)) {
    return Status::Invalid("the filter is not valid UTF-8: encode it as UTF-8");
  }
  FB_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(text));
  if (tokens.size() == 1) {
    return ErrorAt(text, tokens.front().place,
                   "the filter is empty: leave it out to read every row");
  }
  Filter filter{std::string(text), {}};
  FB_ASSIGN_OR_RETURN(filter.root, Parser(text, std::move(tokens)).Run());
  return filter;
}

}  // namespace forebay::table::filter
