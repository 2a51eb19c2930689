// The little XML that object stores answer with: elements and text, no DTDs, no
// namespaces. Bounded: depth and size are limited, entities are the five and numbers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay::source {

// Called in document order: at the end of an element with `path` ("ListBucketResult/
// Contents/Key") and the text directly inside it.
using OnElement = std::function<void(std::string_view path, const std::string& text)>;

// kCorrupt when the document is not well-formed enough to be trusted.
Status ParseXml(std::string_view document, const OnElement& on_element);

// The text of the first element of that name, at any depth; empty when there is none or
// the document can't be parsed.
std::string FindXmlText(std::string_view document, std::string_view name);

}  // namespace forebay::source
