// What tests/data/chunks/types.arrow holds: a column of every type.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reader/random_chunk.h"

namespace forebay::testing_support {

inline model::Field F(std::string format, std::vector<model::Field> children = {}) {
  return reader::MakeField("x", std::move(format), std::move(children));
}

// Its columns, as tests/data/chunks/make.py writes them.
inline std::vector<model::Field> Fields() {
  return {F("n"),
          F("b"),
          F("c"),
          F("S"),
          F("e"),
          F("f"),
          F("l"),
          F("g"),
          F("u"),
          F("Z"),
          F("w:3"),
          F("d:20,2"),
          F("tsu:"),
          F("tdD"),
          F("+l", {F("i")}),
          F("+L", {F("u")}),
          F("+w:2", {F("f")}),
          F("+s", {F("l"), F("u")}),
          F("+m", {F("+s", {F("u"), F("i")})}),
          F("+l", {F("+l", {F("b")})})};
}

}  // namespace forebay::testing_support
