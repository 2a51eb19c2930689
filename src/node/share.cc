#include "node/share.h"

#include <fmt/format.h>

#include <algorithm>

#include "cache/unit_chunks.h"
#include "model/any_manifest.h"

namespace forebay::node {
namespace {

constexpr milliseconds kShareTimeout{30'000};

}  // namespace

Result<Share> OpenShare(const cluster::WarmupOrder& order, cache::Engine* engine,
                        HeadDatasets* datasets) {
  FB_ASSIGN_OR_RETURN(auto home, datasets->Joined());
  FB_ASSIGN_OR_RETURN(
      std::string manifest,
      home->link().Get(fmt::format("/v1/versions/{}/manifest", order.version),
                       Deadline::After(kShareTimeout)));
  std::string uri = datasets->HomeUri(order.dataset);
  std::shared_ptr<const void> unowned(&manifest, [](const void*) {});
  FB_ASSIGN_OR_RETURN(auto any, model::AnyManifest::View(manifest, unowned));
  Share share;
  if (any.files() != nullptr) {
    FB_ASSIGN_OR_RETURN(share.files,
                        engine->files().catalog().Adopt(uri, {}, std::move(manifest)));
    return share;
  }
  FB_ASSIGN_OR_RETURN(share.view.version,
                      engine->catalog().Adopt(uri, {}, std::move(manifest)));
  FB_ASSIGN_OR_RETURN(share.view.columns,
                      model::Project(share.view.manifest().schema(), order.columns));
  return share;
}

cluster::WarmupReport ChooseShare(const cluster::WarmupOrder& order, Cluster& home,
                                  Share* share) {
  auto roster = home.link().roster();
  cluster::WarmupReport report{.operation = order.operation,
                               .roster_epoch = roster->epoch()};
  auto ours = [&](const Hash128& placement) {
    return std::ranges::any_of(
        roster->Route(placement, order.replicas),
        [&](uint32_t member) { return home.IsSelf(roster->members()[member]); });
  };
  if (share->files != nullptr) {
    const model::FilesManifest& manifest = *share->files->manifest;
    model::EachChunk(manifest, [&](model::ChunkRef ref) {
      if (ours(model::FilePlacement(manifest, ref))) {
        share->chunks.push_back(ref);
        report.rows += model::FilesEndingIn(manifest, ref);
      }
      return true;
    });
    report.units = share->chunks.size();
    return report;
  }
  auto all = share->view.manifest().units();
  for (uint32_t unit = 0; unit < all.size(); ++unit) {
    if (!ours(all[unit].content)) continue;
    share->units.push_back(unit);
    report.rows += all[unit].row_count;
  }
  report.units = share->units.size();
  return report;
}

std::map<std::string, uint64_t> OwnedCounts(const Share& share,
                                            const cluster::Roster& roster,
                                            uint32_t replicas) {
  std::map<std::string, uint64_t> counts;
  auto count = [&](const Hash128& placement) {
    for (uint32_t owner : roster.Owners(placement, replicas)) {
      ++counts[roster.members()[owner].id];
    }
  };
  if (share.files != nullptr) {
    const model::FilesManifest& manifest = *share.files->manifest;
    model::EachChunk(manifest, [&](model::ChunkRef ref) {
      count(model::FilePlacement(manifest, ref));
      return true;
    });
    return counts;
  }
  for (const model::UnitRecord& unit : share.view.manifest().units()) count(unit.content);
  return counts;
}

Result<cache::WarmupProgress> LoadShare(const Share& share, cache::Engine* engine,
                                        const cache::WarmupCall& call) {
  if (share.files == nullptr) return engine->WarmupUnits(share.view, share.units, call);
  return engine->files().WarmupChunks(share.files, share.chunks, call);
}

WantedChunks MissingOf(const Share& share, size_t i, storage::Store* store) {
  WantedChunks wanted{.store = store};
  auto want = [&](model::ChunkRef ref, const Hash128& key, std::optional<uint64_t> size) {
    if (!store->Contains(key)) wanted.chunks.push_back({ref, key, size});
  };
  if (share.files != nullptr) {
    const model::FilesManifest& manifest = *share.files->manifest;
    model::ChunkRef ref = share.chunks[i];
    wanted.unit = model::FilePlacement(manifest, ref);
    wanted.kind = model::ChunkKind::kFile;
    wanted.request.table.version = manifest.version();
    want(ref, share.files->Key(ref), manifest.ChunkBytes(ref));
    return wanted;
  }
  const model::Manifest& manifest = share.view.manifest();
  uint32_t unit = share.units[i];
  wanted.unit = manifest.units()[unit].content;
  wanted.request.table.version = manifest.version();
  wanted.request.columns = share.view.columns;
  for (model::ChunkRef ref : cache::UnitChunks(manifest, unit, share.view.columns)) {
    want(ref, share.view.Key(ref), std::nullopt);
  }
  return wanted;
}

}  // namespace forebay::node
