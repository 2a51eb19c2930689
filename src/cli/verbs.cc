#include "cli/verbs.h"

#include "cli/cluster/worker.h"

namespace forebay::cli {
namespace {

constexpr Verb kVerbs[] = {
    {"inspect", "Show a table: schema, rows, files, how much is cached", DeclareInspect},
    {"warmup", "Load a table into the store", DeclareWarmup},
    {"pull", "Copy a tree of files to a local folder, only what changed", DeclarePull},
    {"path", "Show where a file is in a shared directory; bring it there", DeclarePath},
    {"mount", "Show a tree of files as a read-only directory", DeclareMount},
    {"umount", "Take a mount away", DeclareUmount},
    {"refresh", "Move a mount to what its sources hold now", DeclareRefresh},
    {"status", "Show the nodes of this host: what they hold, who reads", DeclareStatus},
    {"store", "List, verify or clean a store directory", DeclareStore},
    {"node", "Run a node in the foreground, stop one, or drain one of a cluster",
     DeclareNode},
    {"nodes", "List the nodes of a cluster", DeclareNodes},
    {"serve", "Run head and node in one process: a cluster of one machine", DeclareServe},
    {"head", "Run a cluster's head in the foreground", DeclareHead},
    {"worker", "Run a worker of Kubeflow's data cache", DeclareWorker},
    {"dataset", "Create, list, show, refresh or delete datasets of a cluster",
     DeclareDataset},
    {"bench", "Measure warm reads of a table against plain memory copies", DeclareBench},
    {"order", "Show which row comes when, or how random that is", DeclareOrder},
    {"version", "Show the version", DeclareVersion},
};

}  // namespace

std::span<const Verb> Verbs() { return kVerbs; }

}  // namespace forebay::cli
