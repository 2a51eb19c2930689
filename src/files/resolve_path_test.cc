#include "model/resolve_path.h"

#include <gtest/gtest.h>

#include <map>

#include "files/build_manifest.h"

namespace forebay::files {
namespace {

using model::FilesManifest;
using model::LastLink;
using model::ResolvedPath;
using Kind = ResolvedPath::Kind;

class ResolvePathTest : public ::testing::Test {
 protected:
  void Make(const std::vector<std::string>& names,
            const std::map<std::string, std::string>& links) {
    FileList list;
    for (const std::string& name : names) {
      name.ends_with('/') ? list.AddFolder(name.substr(0, name.size() - 1))
                          : list.Add(name, {});
    }
    for (const auto& [path, target] : links) list.AddLink(path, target, 1);
    auto bytes = std::make_shared<const std::string>(
        BuildFilesManifest({.root = "s3://b/p", .origin = ""}, std::move(list)));
    manifest_ = FilesManifest::View(*bytes, bytes).ValueOrDie();
  }
  std::string Lead(const std::string& path, LastLink last = LastLink::kFollow) {
    ResolvedPath found = ResolvePath(*manifest_, path, last);
    switch (found.kind) {
      case Kind::kFile: return manifest_->FilePath(found.index);
      case Kind::kDirectory:
        return std::string(manifest_->directory_path(found.index)) + "/";
      case Kind::kMissing: return "missing";
      case Kind::kOutside: return "outside";
      case Kind::kLoop: return "loop";
    }
    return "";
  }
  std::shared_ptr<const FilesManifest> manifest_;
};

TEST_F(ResolvePathTest, FollowsLinksAsAKernelDoes) {
  Make({"a/f", "a/b/g", "empty/"}, {{"file", "a/f"},
                                    {"twice", "file"},
                                    {"folder", "a/b"},
                                    {"a/b/up", "../f"},
                                    {"a/b/root", "../.."},
                                    {"dots", "./a/.//b/../f"}});
  EXPECT_EQ(Lead("a/f"), "a/f");
  EXPECT_EQ(Lead("file"), "a/f");
  EXPECT_EQ(Lead("twice"), "a/f");
  EXPECT_EQ(Lead("dots"), "a/f");
  EXPECT_EQ(Lead("folder"), "a/b/");
  EXPECT_EQ(Lead("folder/g"), "a/b/g");
  EXPECT_EQ(Lead("folder/up"), "a/f") << "from where the link is, not how it was met";
  EXPECT_EQ(Lead("folder/root/folder/g"), "a/b/g");
  EXPECT_EQ(Lead("empty"), "empty/");
  EXPECT_EQ(Lead(""), "/");
  EXPECT_EQ(Lead("file", LastLink::kKeep), "file");
  EXPECT_EQ(Lead("folder/up", LastLink::kKeep), "a/b/up");
}

TEST_F(ResolvePathTest, NothingLeadsOutOfTheTree) {
  Make({"a/f"}, {{"above", ".."},
                 {"a/far", "../../../p/a/f"},
                 {"etc", "/etc/passwd"},
                 {"beside", "s3://b/pq/f"},
                 {"own", "s3://b/p/a/f"},
                 {"own path", "/p/a/f"}});
  EXPECT_EQ(Lead("above"), "outside");
  EXPECT_EQ(Lead("a/far"), "outside");
  EXPECT_EQ(Lead("etc"), "outside");
  EXPECT_EQ(Lead("beside"), "outside");
  EXPECT_EQ(Lead("own"), "a/f");
  EXPECT_EQ(Lead("own path"), "a/f");
  EXPECT_EQ(Lead("a/../a/f"), "missing") << "only targets have dots";
  EXPECT_EQ(Lead("../p/a/f"), "missing");
}

TEST_F(ResolvePathTest, EndsAtLoopsAndWhereNothingIs) {
  std::map<std::string, std::string> links = {
      {"self", "self"}, {"x", "y"}, {"y", "x"}, {"no", "a/g"}, {"l0", "a/f"}};
  for (int i = 1; i < 60; ++i) {
    links["l" + std::to_string(i)] = "l" + std::to_string(i - 1);
  }
  Make({"a/f"}, links);
  EXPECT_EQ(Lead("self"), "loop");
  EXPECT_EQ(Lead("x/z"), "loop");
  EXPECT_EQ(Lead("no"), "missing");
  EXPECT_EQ(Lead("a/f/below"), "missing");
  EXPECT_EQ(Lead("l39"), "a/f");
  EXPECT_EQ(Lead("l40"), "loop");
}

}  // namespace
}  // namespace forebay::files
