#include "storage/write_out.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

TEST(WriteOut, WorksOnAThreadOfItsOwn) {
  WriteOut out;
  std::promise<std::thread::id> who;
  out.Add(1, [&] { who.set_value(std::this_thread::get_id()); });
  EXPECT_NE(who.get_future().get(), std::this_thread::get_id());
}

TEST(WriteOut, WhoeverGetsTooFarAheadWorksItself) {
  std::promise<void> go;
  WriteOut out;
  auto self = std::this_thread::get_id();
  out.Add(WriteOut::kBytesMax, [&, gone = go.get_future().share()] { gone.wait(); });
  bool here = false;
  out.Add(1, [&] { here = std::this_thread::get_id() == self; });
  EXPECT_TRUE(here);
  go.set_value();
}

TEST(WriteOut, TheNumberOfWaitingOnesIsBoundedToo) {
  std::promise<void> go;
  std::promise<void> begun;
  int here = 0;
  {
    WriteOut out;
    auto self = std::this_thread::get_id();
    out.Add(0, [&, gone = go.get_future().share()] {
      begun.set_value();
      gone.wait();
    });
    begun.get_future().wait();
    for (size_t i = 0; i < WriteOut::kCountMax + 3; ++i) {
      out.Add(0, [&] { here += std::this_thread::get_id() == self ? 1 : 0; });
    }
    EXPECT_EQ(here, 3);
    go.set_value();
  }
}

TEST(WriteOut, AStoreThatIsDurableServesBeforeTheDiskHasIt) {
  TempDir dir;
  TierOptions tier = DirectoryOptions(dir / "store");
  tier.durable = true;
  {
    auto store = OpenOrDie(OptionsOf({tier}));
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(Put(*store, i, 1'000'000).ok());
      EXPECT_TRUE(ReadAll(*store->Get(KeyOf(i))) == BytesOf(KeyOf(i), 1'000'000));
    }
    ASSERT_TRUE(store->Remove(KeyOf(19)).ok());
  }
  auto store = OpenOrDie(OptionsOf({tier}));
  EXPECT_TRUE(ReadAll(*store->Get(KeyOf(7))) == BytesOf(KeyOf(7), 1'000'000));
  EXPECT_FALSE(store->Get(KeyOf(19)).ok());
  EXPECT_TRUE(FilesUnder(dir / "store/tmp").empty());
}

}  // namespace
}  // namespace forebay::storage
