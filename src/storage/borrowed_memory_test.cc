#include "storage/borrowed_memory.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

TEST(BorrowedMemory, LendsUpToItsBudgetAndNotAByteMore) {
  BorrowedMemory memory(100);
  auto first = memory.Borrow(60);
  ASSERT_TRUE(first.ok());
  auto rest = memory.Borrow(40);
  ASSERT_TRUE(rest.ok()) << "the budget is 100";
  EXPECT_EQ(memory.used_bytes(), 100U);
  EXPECT_EQ(memory.Borrow(1).status().code(), StatusCode::kFull);
  EXPECT_EQ(memory.used_bytes(), 100U) << "a refusal takes nothing";
}

TEST(BorrowedMemory, SaysHowMuchIsInUse) {
  BorrowedMemory memory(3 << 20);
  auto loan = memory.Borrow(2 << 20);
  EXPECT_EQ(
      memory.Borrow(4 << 20).status().message(),
      "no tier of the store takes a chunk of 4.0 MiB, and readers hold 2.0 MiB of "
      "the 3.0 MiB of memory for such chunks; give the store a larger quota, or the "
      "node a larger --borrowed-memory");
}

TEST(BorrowedMemory, GetsBackWhatALoanGivesUp) {
  BorrowedMemory memory(100);
  {
    auto loan = memory.Borrow(80);
    ASSERT_TRUE(loan.ok());
    loan->ShrinkTo(30);
    EXPECT_EQ(memory.used_bytes(), 30U);
    loan->ShrinkTo(50);
    EXPECT_EQ(loan->bytes(), 30U) << "to shrink never adds";
  }
  EXPECT_EQ(memory.used_bytes(), 0U);
}

TEST(BorrowedMemory, ALoanGrowsWithinTheBudget) {
  BorrowedMemory memory(100);
  auto other = memory.Borrow(50);
  auto loan = memory.Borrow(10);
  ASSERT_TRUE(loan.ok());
  EXPECT_TRUE(loan->GrowTo(50).ok());
  EXPECT_EQ(loan->GrowTo(51).code(), StatusCode::kFull);
  EXPECT_EQ(loan->bytes(), 50U);
  EXPECT_TRUE(loan->GrowTo(20).ok());
  EXPECT_EQ(loan->bytes(), 50U) << "to grow never gives back";
  EXPECT_EQ(memory.used_bytes(), 100U);
}

TEST(BorrowedMemory, TheOnlyLoanGetsAllItAsksFor) {
  BorrowedMemory memory(100);
  auto large = memory.Borrow(500);
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_TRUE(large->GrowTo(600).ok());
  EXPECT_EQ(memory.Borrow(1).status().code(), StatusCode::kFull);
}

TEST(BorrowedMemory, AMovedLoanIsGivenBackOnce) {
  BorrowedMemory memory(100);
  auto loan = memory.Borrow(40);
  std::optional<BorrowedMemory::Loan> moved(*std::move(loan));
  EXPECT_EQ(memory.used_bytes(), 40U);
  BorrowedMemory::Loan assigned = *memory.Borrow(20);
  assigned = *std::move(moved);
  EXPECT_EQ(memory.used_bytes(), 40U) << "what was assigned over is given back";
  moved.reset();
  EXPECT_EQ(memory.used_bytes(), 40U);
  assigned.ShrinkTo(0);
  EXPECT_EQ(memory.used_bytes(), 0U);
}

TEST(BorrowedMemory, LendsToNoMoreThanThereAreDescriptorsFor) {
  BorrowedMemory memory(1 << 20);
  std::vector<BorrowedMemory::Loan> loans;
  for (int i = 0; i < 4096; ++i) loans.push_back(*memory.Borrow(1));
  EXPECT_EQ(memory.Borrow(1).status().code(), StatusCode::kFull);
  EXPECT_TRUE(loans.front().GrowTo(2).ok()) << "no loan is added";
  loans.pop_back();
  EXPECT_TRUE(memory.Borrow(1).ok());
}

TEST(BorrowedMemory, ALoanMayOutliveTheBudget) {
  auto memory = std::make_unique<BorrowedMemory>(100);
  auto loan = memory->Borrow(40);
  memory.reset();
  EXPECT_EQ(loan->bytes(), 40U);
}

TEST(BorrowedMemory, ThreadsTogetherStayWithinTheBudget) {
  BorrowedMemory memory(10);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        auto loan = memory.Borrow(3);
        EXPECT_LE(memory.used_bytes(), 10U);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(memory.used_bytes(), 0U);
}

constexpr uint64_t kChunkBytes = 1000;

// A store whose only tier takes nothing: it is full, and a reader maps all of it.
class BorrowedChunks : public testing::Test {
 protected:
  void SetUp() override { Open({MemoryOptions(kChunkBytes)}); }
  void Open(std::vector<TierOptions> tiers) {
    StoreOptions options = OptionsOf(std::move(tiers));
    options.borrowed_bytes_max = 3 * kChunkBytes;
    store_ = OpenOrDie(std::move(options));
    Chunk full = *Put(*store_, 100, kChunkBytes);
    store_->AddReader(full);
  }
  uint64_t borrowed() const { return store_->Stats().borrowed_bytes; }

  TempDir dir_;
  std::unique_ptr<Store> store_;
};

TEST_F(BorrowedChunks, AreServedWhileTheBudgetLasts) {
  std::vector<Chunk> held;
  for (uint64_t i = 0; i < 3; ++i) {
    auto chunk = Put(*store_, i, kChunkBytes);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    EXPECT_TRUE(chunk->borrowed);
    EXPECT_FALSE(chunk->remote);
    EXPECT_EQ(chunk->medium, model::Medium::kMem);
    EXPECT_TRUE(ReadAll(*chunk) == BytesOf(KeyOf(i), kChunkBytes));
    held.push_back(*chunk);
  }
  EXPECT_EQ(borrowed(), 3 * kChunkBytes);
  auto refused = Put(*store_, 3, kChunkBytes);
  EXPECT_EQ(refused.status().code(), StatusCode::kFull);
  EXPECT_NE(refused.status().message().find("readers hold 2.9 KiB of the 2.9 KiB"),
            std::string::npos)
      << refused.status();
  held.pop_back();
  EXPECT_TRUE(Put(*store_, 3, kChunkBytes).ok()) << "who lets go makes room";
}

TEST_F(BorrowedChunks, CountUntilTheLastReaderLetsGo) {
  {
    Chunk chunk = *Put(*store_, 1, kChunkBytes);
    store_->AddReader(chunk);
    store_->AddReader(chunk);
  }
  EXPECT_EQ(borrowed(), kChunkBytes) << "no handle is left, but readers map it";
  store_->DropReader(KeyOf(1));
  EXPECT_EQ(borrowed(), kChunkBytes);
  store_->DropReader(KeyOf(1));
  EXPECT_EQ(borrowed(), 0U);
  EXPECT_FALSE(store_->Get(KeyOf(1)).ok());
}

TEST_F(BorrowedChunks, AreSharedByAllWhoAskWhileOneHasThem) {
  Chunk first = *Put(*store_, 1, kChunkBytes);
  auto again = store_->Get(KeyOf(1));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->borrowed);
  EXPECT_EQ(again->fd, first.fd);
  EXPECT_EQ(again->size, kChunkBytes);
  EXPECT_EQ(again->checksum, first.checksum);
  Chunk made_twice = *Put(*store_, 1, kChunkBytes);
  EXPECT_EQ(made_twice.fd, first.fd) << "of one chunk there is one copy";
  EXPECT_EQ(borrowed(), kChunkBytes);
  EXPECT_FALSE(store_->Contains(KeyOf(1))) << "no tier holds it";
}

TEST_F(BorrowedChunks, AreGoneWithTheirLastHandle) {
  { Chunk chunk = *Put(*store_, 1, kChunkBytes); }
  EXPECT_EQ(borrowed(), 0U);
  EXPECT_EQ(store_->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
}

TEST_F(BorrowedChunks, AreChargedWhatTheyTakeAndNotWhatWasExpected) {
  auto writer = store_->Create(KeyOf(1), model::ChunkKind::kTable, 2 * kChunkBytes);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(borrowed(), 2 * kChunkBytes);
  std::string bytes = BytesOf(KeyOf(1), kChunkBytes);
  ASSERT_TRUE((*writer)->Append(bytes.data(), bytes.size()).ok());
  Chunk chunk = *(*writer)->Commit();
  EXPECT_EQ(borrowed(), kChunkBytes);
}

TEST_F(BorrowedChunks, ThatOutgrowTheBudgetAreRefusedOnTheWay) {
  Chunk other = *Put(*store_, 2, kChunkBytes);
  {
    auto writer = store_->Create(KeyOf(1), model::ChunkKind::kTable, 0);
    ASSERT_TRUE(writer.ok());
    std::string bytes = BytesOf(KeyOf(1), 3 * kChunkBytes);
    ASSERT_TRUE((*writer)->Append(bytes.data(), bytes.size()).ok());  // into its buffer
    EXPECT_EQ((*writer)->Commit().status().code(), StatusCode::kFull);
  }
  EXPECT_EQ(borrowed(), kChunkBytes) << "what was refused holds nothing";
}

TEST_F(BorrowedChunks, ThatReadersKeepLeaveRoomForOneMore) {
  std::vector<Chunk> held;
  for (uint64_t i = 0; i < 2; ++i) {
    held.push_back(*Put(*store_, i, kChunkBytes));
    ASSERT_EQ(store_->AddKeepingReader(held.back()), Status::OK()) << i;
  }
  {
    Chunk third = *Put(*store_, 2, kChunkBytes);
    EXPECT_EQ(store_->AddKeepingReader(third).code(), StatusCode::kFull);
    EXPECT_EQ(store_->AddKeepingReader(held[0]), Status::OK()) << "it is mapped already";
  }
  EXPECT_EQ(borrowed(), 2 * kChunkBytes) << "nobody reads the third";
  store_->AddReader(*Put(*store_, 2, kChunkBytes));
  EXPECT_EQ(borrowed(), 3 * kChunkBytes) << "who gives it back soon may have it";
  store_->DropReader(KeyOf(2));
  store_->DropReader(KeyOf(1));
  EXPECT_EQ(store_->AddKeepingReader(*Put(*store_, 3, kChunkBytes)), Status::OK());
}

TEST_F(BorrowedChunks, ThatReadersKeepLeaveRoomForTheLargestOne) {
  { Chunk large = *Put(*store_, 1, 2 * kChunkBytes); }
  Chunk first = *Put(*store_, 2, kChunkBytes);
  ASSERT_EQ(store_->AddKeepingReader(first), Status::OK());
  EXPECT_EQ(store_->AddKeepingReader(*Put(*store_, 3, kChunkBytes / 2)).code(),
            StatusCode::kFull);
  EXPECT_TRUE(Put(*store_, 1, 2 * kChunkBytes).ok());
}

TEST_F(BorrowedChunks, OfManifestsAreNeverRefused) {
  std::vector<Chunk> held;
  for (uint64_t i = 0; i < 3; ++i) held.push_back(*Put(*store_, i, kChunkBytes));
  std::string bytes = BytesOf(KeyOf(7), 5 * kChunkBytes);
  auto writer = store_->Create(KeyOf(7), model::ChunkKind::kManifest, bytes.size());
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Append(bytes.data(), bytes.size()).ok());
  EXPECT_TRUE((*writer)->Commit().ok());
}

TEST_F(BorrowedChunks, MakeTheStoreTight) {
  Chunk chunk = *Put(*store_, 1, kChunkBytes);
  EXPECT_TRUE(store_->tight());
}

TierOptions Network(const std::string& path) {
  TierOptions tier = DirectoryOptions(path);
  tier.spec.medium = model::Medium::kNfs;
  return tier;
}

class CopiesOfRemoteChunks : public BorrowedChunks {
 protected:
  void SetUp() override { Open({Network(dir_ / "net")}); }
  void Open(std::vector<TierOptions> tiers) {
    StoreOptions options = OptionsOf(std::move(tiers));
    options.borrowed_bytes_max = 2 * kChunkBytes;
    store_ = OpenOrDie(std::move(options));
  }
};

TEST_F(CopiesOfRemoteChunks, AreMadeWhileTheBudgetLasts) {
  std::vector<Chunk> held;
  for (uint64_t i = 0; i < 4; ++i) {
    auto chunk = Put(*store_, i, kChunkBytes);
    ASSERT_TRUE(chunk.ok()) << "it is stored, whatever memory there is: "
                            << chunk.status();
    EXPECT_EQ(chunk->borrowed, i < 2) << i;
    EXPECT_EQ(chunk->remote, i >= 2) << i;
    EXPECT_EQ(CheckMappable(*chunk).code(), i < 2 ? StatusCode::kOk : StatusCode::kFull);
    EXPECT_TRUE(ReadAll(*chunk) == BytesOf(KeyOf(i), kChunkBytes));
    held.push_back(*chunk);
  }
  EXPECT_EQ(borrowed(), 2 * kChunkBytes);
  held.clear();
  auto later = store_->Get(KeyOf(3));
  ASSERT_TRUE(later.ok());
  EXPECT_TRUE(later->borrowed) << "there is memory again";
}

TEST_F(CopiesOfRemoteChunks, AreCheckedAlsoWhereThereIsNoMemoryForThem) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(Put(*store_, i, kChunkBytes).ok());
  std::string file = FileOf(dir_ / "net", KeyOf(2));
  std::string bytes = Slurp(file);
  bytes[500] ^= 1;
  Spit(file, bytes);
  Chunk first = *store_->Get(KeyOf(0));
  Chunk second = *store_->Get(KeyOf(1));
  EXPECT_EQ(store_->Get(KeyOf(2)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->Stats().quarantined, 1U);
}

TEST_F(CopiesOfRemoteChunks, BoundWhatCanBeMappedOfSuchAStore) {
  EXPECT_EQ(store_->MappableBytes(), 2 * kChunkBytes);
  Open({MemoryOptions(5 * kChunkBytes), Network(dir_ / "net")});
  EXPECT_EQ(store_->MappableBytes(), 5 * kChunkBytes);
  EXPECT_GT(store_->CapacityBytes(), 5 * kChunkBytes);
}

}  // namespace
}  // namespace forebay::storage
