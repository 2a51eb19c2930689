// One pass of the Feistel network of Permutation, without cycle walking, over many values
// with the widest vectors the processor has. All instruction sets give the same values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/permutation.h"

namespace forebay::plan::feistel {

// In place; each value below net.a · net.b, before and after.
using Pass = void (*)(const Permutation::Network& net, uint64_t* values, size_t count);

struct Kernels {
  const char* name;
  Pass forward;
  Pass inverse;
};

// What this processor runs, narrowest first: "scalar" always, then "avx2", "avx512".
size_t KernelCount();
const Kernels& KernelAt(size_t index);
// The widest of them.
const Kernels& Best();

uint64_t Forward(const Permutation::Network& net, uint64_t x);
uint64_t Inverse(const Permutation::Network& net, uint64_t y);

}  // namespace forebay::plan::feistel
