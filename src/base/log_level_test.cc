#include "base/log_level.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/log.h"

namespace forebay {
namespace {

using Level = spdlog::level::level_enum;

// Sets FOREBAY_LOG, and puts back what it was.
class Variable {
 public:
  explicit Variable(const char* value) {
    const char* before = std::getenv("FOREBAY_LOG");
    if (before != nullptr) before_ = before;
    was_set_ = before != nullptr;
    if (value == nullptr) {
      ::unsetenv("FOREBAY_LOG");
    } else {
      ::setenv("FOREBAY_LOG", value, 1);
    }
  }
  ~Variable() {
    if (was_set_) {
      ::setenv("FOREBAY_LOG", before_.c_str(), 1);
    } else {
      ::unsetenv("FOREBAY_LOG");
    }
  }

 private:
  std::string before_;
  bool was_set_ = false;
};

TEST(LogLevel, IsNamedInAnyLetterCase) {
  EXPECT_EQ(*ParseLogLevel("debug"), Level::debug);
  EXPECT_EQ(*ParseLogLevel("info"), Level::info);
  EXPECT_EQ(*ParseLogLevel("WARNING"), Level::warn);
  EXPECT_EQ(*ParseLogLevel("warn"), Level::warn);
  EXPECT_EQ(*ParseLogLevel("Error"), Level::err);
  EXPECT_EQ(*ParseLogLevel("off"), Level::off);
}

TEST(LogLevel, ThatIsNoneIsAnErrorThatListsThem) {
  auto level = ParseLogLevel("verbose");
  ASSERT_EQ(level.status().code(), StatusCode::kInvalid);
  EXPECT_EQ(level.status().message(),
            "FOREBAY_LOG is 'verbose': the levels are debug, info, warning, error, off");
}

TEST(LogLevel, ThatIsMisspelledIsAnErrorThatGuesses) {
  EXPECT_EQ(ParseLogLevel("wraning").status().message(),
            "FOREBAY_LOG is 'wraning': the levels are debug, info, warning, error, off; "
            "did you mean warning?");
  EXPECT_FALSE(ParseLogLevel("info ").ok());
  EXPECT_FALSE(ParseLogLevel("inf").ok());
}

TEST(LogLevel, IsTheDefaultWhereTheVariableSaysNothing) {
  {
    Variable unset(nullptr);
    EXPECT_EQ(*LogLevel(Level::warn), Level::warn);
  }
  Variable empty("");
  EXPECT_EQ(*LogLevel(Level::warn), Level::warn);
}

TEST(InitLog, SetsTheLevelOfTheVariable) {
  Variable wanted("error");
  EXPECT_TRUE(CheckLogLevel().ok());
  InitLog("log-test-error", Level::info);
  EXPECT_EQ(spdlog::default_logger()->level(), Level::err);
}

TEST(InitLog, MayBeCalledAgain) {
  Variable unset(nullptr);
  InitLog("log-test-again", Level::info);
  InitLog("log-test-again", Level::warn);
  EXPECT_EQ(spdlog::default_logger()->level(), Level::warn);
}

TEST(InitLog, HasTheDefaultLevelWhereTheVariableIsNone) {
  Variable wanted("verbose");
  EXPECT_EQ(CheckLogLevel().code(), StatusCode::kInvalid);
  InitLog("log-test-verbose", Level::info);
  EXPECT_EQ(spdlog::default_logger()->level(), Level::info);
}

}  // namespace
}  // namespace forebay
