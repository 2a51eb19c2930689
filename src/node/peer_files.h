// Serves chunks of trees of files to the other members of a cluster: from the store, or
// filled from the source for all of them.
#pragma once

#include <memory>

#include "cache/engine.h"
#include "flight/chunk_provider.h"

namespace forebay::node {

// For a fill that a peer asks for. Sessions count up from 1, and never get there.
cache::ClientId NextPeerClient();
// For what the store verifies just now.
constexpr milliseconds kPeerStoreTime = std::chrono::seconds(30);

// What the store has of these chunks, a small file also out of its pack; kNotFound.
Result<std::unique_ptr<flight::ServedChunks>> ServeStoredFiles(
    cache::Engine* engine, const cache::FilesEngine::Version& version,
    const flight::ChunkRequest& request);

// The same, filled where it is missing. The engine must outlive what is served.
Result<std::unique_ptr<flight::ServedChunks>> ServeFiles(
    cache::Engine* engine, const cache::FilesEngine::Version& version,
    const flight::ChunkRequest& request);

}  // namespace forebay::node
