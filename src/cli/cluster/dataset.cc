// forebay dataset create|list|show|refresh|delete: the datasets of a cluster.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <memory>

#include "base/uri.h"
#include "cli/cluster/cluster_text.h"
#include "cli/cluster/head_call.h"
#include "cli/iceberg_arguments.h"
#include "cli/open_arguments.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "http/percent.h"

namespace forebay::cli {
namespace {

using nlohmann::json;

struct Arguments {
  std::string head;
  std::string name;
  std::string source;
  bool files = false;
  std::vector<std::string> columns;
  std::vector<std::string> options;
  uint32_t replicas = 1;
  IcebergArguments iceberg;
  OutputFormat format = OutputFormat::kTable;
};

std::string PathOf(const Arguments& arguments) {
  return "/v1/datasets/" + http::PercentEncode(arguments.name);
}

void Show(const json& answer, OutputFormat format, std::string (*text)(const json&)) {
  Print(format == OutputFormat::kJson ? ToText(answer) : text(answer));
  std::string note = TextIn(answer, "note");
  if (!note.empty()) Complain(Printable(note));
}

// The head has another working directory than whoever calls it.
Result<std::string> Absolute(const std::string& source) {
  if (source.empty() || !SplitUri(source).is_relative()) return source;
  FB_ASSIGN_OR_RETURN(Uri uri, Uri::Parse(source));
  return uri.path;
}

Result<json> WishOf(const Arguments& arguments) {
  FB_ASSIGN_OR_RETURN(auto options, IcebergOptions(arguments.iceberg));
  FB_ASSIGN_OR_RETURN(auto given, ParseOptions(arguments.options));
  for (auto& [name, value] : given) {
    if (!options.emplace(name, std::move(value)).second) {
      return Status::Invalid(
          fmt::format("--option {} is also given by its own name", name));
    }
  }
  FB_ASSIGN_OR_RETURN(std::string source, Absolute(arguments.source));
  return json{{"name", arguments.name},
              {"kind", arguments.files ? "files" : "table"},
              {"source", source},
              {"options", options},
              {"columns", arguments.columns},
              {"replicas", arguments.replicas}};
}

void AddName(CLI::App& app, Arguments* arguments) {
  app.add_option("NAME", arguments->name, "what the dataset is called")->required();
  AddHeadOption(app, &arguments->head);
  AddOutputOption(app, &arguments->format);
}

Run DeclareCreate(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddName(app, arguments.get());
  app.add_option("--source", arguments->source,
                 "the table, or tree of files: a URI, see forebay inspect")
      ->required()
      ->option_text("URI");
  app.add_flag("--files", arguments->files,
               "it is a tree of files, for forebay.files(), mount and pull");
  app.add_option("-c,--columns", arguments->columns, "keep only these: a,b,c")
      ->delimiter(',')
      ->option_text("NAMES");
  app.add_option("--replicas", arguments->replicas, "how many nodes keep each row")
      ->capture_default_str();
  AddSourceOptions(app, &arguments->options);
  AddIcebergArguments(app, &arguments->iceberg);
  return [arguments]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(json wish, WishOf(*arguments));
    FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(arguments->head));
    FB_ASSIGN_OR_RETURN(json answer, head.Post("/v1/datasets", wish));
    Show(answer, arguments->format, DatasetText);
    return ExitCode::kOk;
  };
}

Run DeclareList(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddHeadOption(app, &arguments->head);
  AddOutputOption(app, &arguments->format);
  return [arguments]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(arguments->head));
    FB_ASSIGN_OR_RETURN(json answer, head.Get("/v1/datasets"));
    Show(answer, arguments->format, DatasetsText);
    return ExitCode::kOk;
  };
}

Run DeclareShow(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddName(app, arguments.get());
  return [arguments]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(arguments->head));
    FB_ASSIGN_OR_RETURN(json answer, head.Get(PathOf(*arguments)));
    Show(answer, arguments->format, DatasetText);
    return ExitCode::kOk;
  };
}

Run DeclareRefresh(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddName(app, arguments.get());
  return [arguments]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(arguments->head));
    FB_ASSIGN_OR_RETURN(json answer,
                        head.Post(PathOf(*arguments) + "/refresh", json::object()));
    Show(answer, arguments->format, DatasetText);
    return ExitCode::kOk;
  };
}

Run DeclareDelete(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("NAME", arguments->name, "what the dataset is called")->required();
  AddHeadOption(app, &arguments->head);
  return [arguments]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(arguments->head));
    FB_RETURN_NOT_OK(head.Delete(PathOf(*arguments)).status());
    return ExitCode::kOk;
  };
}

constexpr Verb kDatasetVerbs[] = {
    {"create", "Give a table a name, and pin what it holds now", DeclareCreate},
    {"list", "List the datasets", DeclareList},
    {"show", "Show one dataset; secrets are left out", DeclareShow},
    {"refresh", "Pin what the source holds now", DeclareRefresh},
    {"delete", "Forget a dataset; its source is not touched", DeclareDelete},
};

}  // namespace

Run DeclareDataset(CLI::App& app) { return DeclareAll(app, kDatasetVerbs); }

}  // namespace forebay::cli
