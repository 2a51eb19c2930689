// The fuzzer's check (tools/fuzz wire) on the kept corpus, and on mutations of it that
// are the same in every run.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "support/wire_fuzz.h"

namespace forebay::wire {
namespace {

std::vector<std::string> Corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(FOREBAY_ROOT "/tests/fuzz/corpus/wire")) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in),
                        std::istreambuf_iterator<char>());
  }
  return corpus;
}

// One of the changes that break decoders: of a bit, of a length, of the end, of the
// order.
std::string Mutated(std::string bytes, std::mt19937& random) {
  auto below = [&](size_t n) {
    return static_cast<size_t>(random()) % std::max<size_t>(n, 1);
  };
  switch (random() % 6) {
    case 0:
      if (!bytes.empty())
        bytes[below(bytes.size())] ^= static_cast<char>(1 << random() % 8);
      break;
    case 1: bytes.resize(below(bytes.size())); break;
    case 2:
      bytes.insert(below(bytes.size()), 1 + random() % 9, static_cast<char>(random()));
      break;
    case 3: {
      const uint32_t counts[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x20000000};
      uint32_t count = counts[random() % std::size(counts)];
      if (bytes.size() < sizeof(count)) break;
      bytes.replace(below(bytes.size() - 3), sizeof(count),
                    reinterpret_cast<const char*>(&count), sizeof(count));
      break;
    }
    case 4: bytes += bytes.substr(below(bytes.size())); break;
    default:
      if (bytes.size() >= 2) bytes[0] = static_cast<char>(random() % 40);
  }
  return bytes;
}

TEST(MessageFuzz, CorpusHasEveryMessageAndHoldsTheRules) {
  std::vector<bool> seen(std::variant_size_v<Message>);
  for (const std::string& bytes : Corpus()) {
    fuzz::FuzzWire(bytes);
    auto decoded = Decode(bytes);
    if (decoded.ok()) seen[decoded->message.index()] = true;
  }
  EXPECT_EQ(std::ranges::count(seen, false), 0)
      << "no seed for type " << std::ranges::find(seen, false) - seen.begin();
}

TEST(MessageFuzz, MutationsOfTheCorpusHoldTheRules) {
  std::mt19937 random(20'261'118);
  std::vector<std::string> pool = Corpus();
  ASSERT_FALSE(pool.empty());
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = Mutated(pool[random() % pool.size()], random);
    for (int more = random() % 3; more > 0; --more) bytes = Mutated(bytes, random);
    fuzz::FuzzWire(bytes);
  }
}

}  // namespace
}  // namespace forebay::wire
