// forebay order [URI]: the rows of an order, or how random it is
#include "cli/order.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/uri.h"
#include "cli/dataset_arguments.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

constexpr uint64_t kRangesMax = 10'000'000;
constexpr uint64_t kFilesMax = 10'000'000;
constexpr uint64_t kFirstMax = 10'000'000;

struct Arguments {
  DatasetArguments dataset;
  uint64_t rows = 0;
  uint64_t ranges = 100;
  uint64_t files = 10;
  std::string mode = "global";
  uint64_t window_ranges = plan::kWindowRangesDefault;
  uint64_t batch_size = 1024;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t first = 100;
  bool quality = false;
  OutputFormat format = OutputFormat::kTable;
};

std::shared_ptr<const plan::RangeLayout> EvenLayout(uint64_t rows, uint64_t ranges) {
  ranges = std::clamp<uint64_t>(rows, 1, ranges);
  std::vector<uint64_t> counts(ranges, rows / ranges);
  for (uint64_t i = 0; i < rows % ranges; ++i) ++counts[i];
  return plan::RangeLayout::Of(counts);
}

Result<OrderSubject> MakeSubject(const Arguments& arguments) {
  bool real = !arguments.dataset.uri.empty();
  if (real == (arguments.rows > 0)) {
    return Status::Invalid(real ? "a URI and --rows are given: give only one of them"
                                : "give the URI of a table, or --rows for one that is "
                                  "made up");
  }
  OrderSubject subject{
      .uri = {}, .order = {}, .batch_size = arguments.batch_size, .files = {}};
  FB_ASSIGN_OR_RETURN(subject.order.mode, plan::ParseOrderMode(arguments.mode));
  subject.order.seed = arguments.seed;
  subject.order.epoch = arguments.epoch;
  subject.order.window_ranges = arguments.window_ranges;
  if (real) {
    FB_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDataset(arguments.dataset));
    subject.uri = RedactUri(dataset.table->uri());
    subject.order.rows = dataset.manifest().row_count();
    subject.order.layout = plan::RangeLayout::Of(dataset.manifest());
    subject.files = plan::FileRuns(dataset.manifest());
    return subject;
  }
  subject.order.rows = arguments.rows;
  subject.order.layout = EvenLayout(arguments.rows, arguments.ranges);
  subject.files =
      plan::EvenFileRuns(arguments.rows, std::min(arguments.rows, arguments.files));
  return subject;
}

OrderComparison Compare(const OrderSubject& subject, const plan::Order& order) {
  plan::QualityOptions options{
      .rows = order.rows(), .batch_size = subject.batch_size, .files = subject.files};
  auto rows_at = [&](uint64_t first, std::span<uint64_t> out) {
    order.RowsAt(first, out);
  };
  return {.order = plan::MeasureQuality(options, rows_at),
          .fisher_yates = plan::MeasureQuality(
              options, plan::FisherYates(order.rows(), subject.order.seed))};
}

std::string TitleOf(const OrderSubject& subject) {
  std::string title(plan::OrderModeName(subject.order.mode));
  std::ranges::transform(title, title.begin(), [](char c) { return c - 'a' + 'A'; });
  return title;
}

nlohmann::ordered_json SubjectJson(const OrderSubject& subject) {
  nlohmann::ordered_json out;
  if (!subject.uri.empty()) out["uri"] = subject.uri;
  out["order"] = plan::OrderModeName(subject.order.mode);
  out["rows"] = subject.order.rows;
  out["seed"] = subject.order.seed;
  out["epoch"] = subject.order.epoch;
  out["ranges"] = subject.order.layout->live_count();
  if (subject.order.mode == plan::OrderMode::kWindow) {
    out["window_ranges"] = subject.order.window_ranges;
    out["layout"] = subject.order.layout->hash().ToHex();
  }
  return out;
}

nlohmann::ordered_json FiguresJson(const plan::OrderQuality& quality) {
  return {{"mean_displacement", quality.mean_displacement},
          {"files_per_batch", quality.files_per_batch},
          {"chi_square", quality.chi_square},
          {"chi_square_expected", quality.chi_square_expected},
          {"lag1_correlation", quality.lag1_correlation}};
}

Result<ExitCode> ShowRows(const OrderSubject& subject, const plan::Order& order,
                          const Arguments& arguments) {
  std::vector<uint64_t> rows(std::min(arguments.first, order.rows()));
  order.RowsAt(0, rows);
  bool json = arguments.format == OutputFormat::kJson;
  Print(json ? ToText(OrderJson(subject, rows)) : OrderText(rows));
  if (rows.size() < order.rows() && !json) {
    Complain(fmt::format("the first {} of {} rows; --first shows more", rows.size(),
                         order.rows()));
  }
  return ExitCode::kOk;
}

Result<ExitCode> ShowOrder(const Arguments& arguments) {
  FB_ASSIGN_OR_RETURN(OrderSubject subject, MakeSubject(arguments));
  FB_ASSIGN_OR_RETURN(plan::Order order, plan::Order::Make(subject.order));
  if (!arguments.quality) return ShowRows(subject, order, arguments);
  if (order.rows() == 0) {
    return Status::Invalid("the table has no rows: there is nothing to measure");
  }
  OrderComparison comparison = Compare(subject, order);
  bool json = arguments.format == OutputFormat::kJson;
  Print(json ? ToText(QualityJson(subject, comparison))
             : QualityText(subject, comparison));
  return ExitCode::kOk;
}

void AddTableOptions(CLI::App& app, Arguments* arguments) {
  AddDatasetArguments(app, "10m", &arguments->dataset);
  app.get_option("URI")->required(false);
  app.remove_option(app.get_option("--columns"));
  app.add_option("--rows", arguments->rows, "of a made-up table, instead of a URI")
      ->check(CLI::Range(uint64_t{1}, plan::kRowsMax).description(""))
      ->option_text("COUNT");
  app.add_option("--ranges", arguments->ranges, "row ranges of the made-up table")
      ->check(CLI::Range(uint64_t{1}, kRangesMax).description(""))
      ->option_text("COUNT [100]");
  app.add_option("--files", arguments->files, "files of the made-up table")
      ->check(CLI::Range(uint64_t{1}, kFilesMax).description(""))
      ->option_text("COUNT [10]");
}

void AddOrderOptions(CLI::App& app, Arguments* arguments) {
  app.add_option("--order", arguments->mode, "sequential, window or global")
      ->option_text("NAME [global]");
  app.add_option("--window", arguments->window_ranges, "ranges of a window")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32).description(""))
      ->option_text(fmt::format("COUNT [{}]", plan::kWindowRangesDefault));
  app.add_option("--seed", arguments->seed, "of the order")->option_text("SEED [0]");
  app.add_option("--epoch", arguments->epoch, "of the order")->option_text("EPOCH [0]");
}

}  // namespace

nlohmann::ordered_json OrderJson(const OrderSubject& subject,
                                 const std::vector<uint64_t>& rows) {
  nlohmann::ordered_json out = SubjectJson(subject);
  out["first_rows"] = rows;
  return out;
}

std::string OrderText(const std::vector<uint64_t>& rows) {
  TextTable table({{"POSITION", Align::kRight}, {"ROW", Align::kRight}});
  for (size_t i = 0; i < rows.size(); ++i) {
    table.Add({fmt::format("{}", i), fmt::format("{}", rows[i])});
  }
  return table.ToString();
}

nlohmann::ordered_json QualityJson(const OrderSubject& subject,
                                   const OrderComparison& comparison) {
  nlohmann::ordered_json out = SubjectJson(subject);
  out["batch_size"] = subject.batch_size;
  out["rows_looked_at"] = comparison.order.rows_looked_at;
  out["quality"] = FiguresJson(comparison.order);
  out["fisher_yates"] = FiguresJson(comparison.fisher_yates);
  return out;
}

std::string QualityText(const OrderSubject& subject, const OrderComparison& comparison) {
  const plan::OrderQuality& order = comparison.order;
  const plan::OrderQuality& shuffle = comparison.fisher_yates;
  TextTable table(
      {{"FIGURE"}, {TitleOf(subject), Align::kRight}, {"FISHER-YATES", Align::kRight}});
  auto add = [&](const std::string& name, double a, double b, int digits) {
    table.Add(
        {name, fmt::format("{:.{}f}", a, digits), fmt::format("{:.{}f}", b, digits)});
  };
  add("mean displacement, of the table", order.mean_displacement,
      shuffle.mean_displacement, 4);
  add(fmt::format("files per batch of {}", subject.batch_size), order.files_per_batch,
      shuffle.files_per_batch, 2);
  add(fmt::format("chi-square, {:.0f} expected", order.chi_square_expected),
      order.chi_square, shuffle.chi_square, 1);
  for (size_t i = 0; i < plan::kDeciles; ++i) {
    add(fmt::format("lag-1 correlation, tenth {}", i + 1), order.lag1_correlation[i],
        shuffle.lag1_correlation[i], 4);
  }
  return table.ToString();
}

Run DeclareOrder(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddTableOptions(app, arguments.get());
  AddOrderOptions(app, arguments.get());
  app.add_option("--first", arguments->first, "how many rows to show")
      ->check(CLI::Range(uint64_t{1}, kFirstMax).description(""))
      ->option_text("COUNT [100]");
  app.add_flag("--quality", arguments->quality,
               "how random the order is, beside a Fisher-Yates shuffle");
  app.add_option("--batch", arguments->batch_size, "rows of a batch, for --quality")
      ->check(CLI::Range(uint64_t{1}, plan::kQualityRowsMax).description(""))
      ->option_text("ROWS [1024]");
  AddOutputOption(app, &arguments->format);
  return [arguments] { return ShowOrder(*arguments); };
}

}  // namespace forebay::cli
