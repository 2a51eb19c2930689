// Runs a fuzzer without libFuzzer: the kept corpus, then random changes of it until time
// is up. What makes the target fail is written to PREFIX-crash first. Blind, unlike
// libFuzzer, but it needs no more than a compiler.
//   driver SECONDS SEED PREFIX CORPUS
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kBytesMax = 4096;

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, uint64_t seed)
      : corpus_(std::move(corpus)), random_(seed) {}

  std::string Next() {
    std::string text = Pick();
    for (size_t changes = 1 + Below(6); changes > 0; --changes) Change(&text);
    if (text.size() > kBytesMax) text.resize(kBytesMax);
    return text;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  const std::string& Pick() { return corpus_[Below(corpus_.size())]; }

  void Change(std::string* text) {
    size_t at = Below(text->size() + 1);
    size_t size = 1 + Below(8);
    const std::string& other = Pick();
    size_t from = Below(other.size() + 1);
    switch (Below(7)) {
      case 0: text->insert(at, 1, static_cast<char>(random_())); break;
      case 1: text->erase(at, size); break;
      case 2: text->resize(at); break;
      case 3: text->insert(at, other, from, Below(64)); break;
      case 4: text->insert(at, std::to_string(static_cast<int64_t>(random_()))); break;
      case 5: text->insert(at, Below(300), static_cast<char>(random_())); break;
      default:
        if (at < text->size()) (*text)[at] = static_cast<char>(random_());
    }
  }

  std::vector<std::string> corpus_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  std::vector<std::string> corpus = {""};
  for (const auto& entry : std::filesystem::directory_iterator(words[4])) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
  }
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(words[1]));
  std::string crash = std::string(words[3]) + "-crash";
  Mutator mutator(corpus, std::strtoull(words[2], nullptr, 10));
  uint64_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    std::string text = runs < corpus.size() ? corpus[runs] : mutator.Next();
    std::FILE* kept = std::fopen(crash.c_str(), "wb");
    if (kept == nullptr) return 2;
    std::fwrite(text.data(), 1, text.size(), kept);
    std::fclose(kept);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
  std::remove(crash.c_str());
  std::printf("%llu runs\n", static_cast<unsigned long long>(runs));
  return 0;
}
