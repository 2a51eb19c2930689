#include "plan/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace forebay::plan {
namespace {

using Json = nlohmann::ordered_json;

// Larger than any cursor; keeps a wrong file from being taken apart.
constexpr size_t kTextBytesMax = size_t{1} << 20;
constexpr Until kUntils[] = {Until::kFirstExhausted, Until::kAllExhausted,
                             Until::kForever};

Json SourceJson(const SourceCursor& source) {
  Json out;
  if (!source.name.empty()) out["name"] = source.name;
  out["dataset"] = source.version.ToHex();
  out["rows"] = source.rows;
  out["order"] = OrderModeName(source.mode);
  out["seed"] = source.seed;
  out["epoch"] = source.epoch;
  out["position"] = source.position;
  if (source.mode == OrderMode::kWindow) {
    out["window_ranges"] = source.window_ranges;
    out["layout"] = source.layout.ToHex();
  }
  return out;
}

// Takes the fields of an object one by one. Remembers the first thing that is wrong, so
// that callers check once at the end; a field nobody took is wrong too.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {
    if (!object.is_object()) Fail("The cursor is not a JSON object.");
  }

  bool Has(const char* name) const { return object_.contains(name); }
  void Number(const char* name, uint64_t* out) {
    const Json* value = Take(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned()) return Fail(name, "a whole number of 0 or more");
    *out = value->get<uint64_t>();
  }
  void Text(const char* name, std::string* out) {
    const Json* value = Take(name);
    if (value == nullptr) return;
    if (!value->is_string()) return Fail(name, "a text");
    *out = value->get<std::string>();
  }
  void Hash(const char* name, Hash128* out) {
    std::string text;
    Text(name, &text);
    auto hash = Hash128::FromHex(text);
    if (!hash) return Fail(name, "32 hexadecimal digits");
    *out = *hash;
  }
  template <typename T>
  void Name(const char* name, Result<T> (*parse)(std::string_view), T* out) {
    std::string text;
    Text(name, &text);
    auto value = parse(text);
    if (!value.ok()) return Fail(value.status().message());
    *out = *value;
  }
  // Each item with `read(item)`, which says whether it is right.
  template <typename Read>
  void Items(const char* name, const char* what, Read read) {
    const Json* value = Take(name);
    if (value == nullptr) return;
    if (!value->is_array()) return Fail(name, what);
    for (const Json& item : *value) {
      if (!read(item)) return Fail(name, what);
    }
  }

  void Fail(std::string sentence) {
    if (status_.ok()) status_ = Status::Invalid(std::move(sentence));
  }
  Status Finish() {
    if (status_.ok() && taken_ < object_.size()) {
      Fail("The cursor has a field that cursors do not have: was it edited?");
    }
    return status_;
  }

 private:
  const Json* Take(const char* name) {
    if (!status_.ok()) return nullptr;
    auto found = object_.find(name);
    if (found == object_.end()) {
      Fail(fmt::format("The cursor lacks \"{}\".", name));
      return nullptr;
    }
    ++taken_;
    return &*found;
  }
  void Fail(const char* name, const char* wanted) {
    Fail(fmt::format("\"{}\" of the cursor is not {}.", name, wanted));
  }

  const Json& object_;
  size_t taken_ = 0;
  Status status_;
};

void ReadSource(Fields& fields, SourceCursor* out) {
  fields.Hash("dataset", &out->version);
  fields.Number("rows", &out->rows);
  fields.Name("order", ParseOrderMode, &out->mode);
  fields.Number("seed", &out->seed);
  fields.Number("epoch", &out->epoch);
  fields.Number("position", &out->position);
  if (out->mode == OrderMode::kWindow) {
    fields.Number("window_ranges", &out->window_ranges);
    fields.Hash("layout", &out->layout);
  }
  if (out->position > out->rows) {
    fields.Fail(fmt::format("The cursor's position {} lies past its {} rows.",
                            out->position, out->rows));
  }
}

Status ReadMixedSource(const Json& json, Cursor* cursor) {
  Fields fields(json);
  SourceCursor source;
  uint64_t taken_before = 0;
  fields.Text("name", &source.name);
  ReadSource(fields, &source);
  fields.Number("taken_before", &taken_before);
  FB_RETURN_NOT_OK(fields.Finish());
  cursor->sources.push_back(std::move(source));
  cursor->mixture->taken_before.push_back(taken_before);
  return Status::OK();
}

void ReadMixture(Fields& fields, Cursor* cursor) {
  MixtureCursor& mixture = cursor->mixture.emplace();
  fields.Number("seed", &mixture.seed);
  fields.Number("epoch", &mixture.epoch);
  fields.Number("position", &mixture.position);
  fields.Name("until", ParseUntil, &mixture.until);
  fields.Number("weights_since", &mixture.weights_since);
  fields.Items("weights", "a list of numbers", [&](const Json& item) {
    if (item.is_number()) mixture.weights.push_back(item.get<double>());
    return item.is_number();
  });
  fields.Items("sources", "a list", [&](const Json& item) {
    Status status = ReadMixedSource(item, cursor);
    if (!status.ok()) fields.Fail(status.message());
    return status.ok();
  });
  if (mixture.weights.size() != cursor->sources.size()) {
    fields.Fail(fmt::format("The cursor has {} sources and {} weights.",
                            cursor->sources.size(), mixture.weights.size()));
  }
  if (mixture.weights_since > mixture.position) {
    fields.Fail("The cursor's weights begin after its position.");
  }
}

Status CheckVersion(const Json& json) {
  auto version = json.is_object() ? json.find("forebay_cursor") : json.end();
  if (version == json.end() || !version->is_number_unsigned()) {
    return Status::Invalid(
        "This is not a cursor of Forebay: it has no number \"forebay_cursor\".");
  }
  if (version->get<uint64_t>() == Cursor::kFormatVersion) return Status::OK();
  return Status::Unsupported(
      fmt::format("The cursor has format {}, and this release reads {}: use the release "
                  "that saved it, or a later one.",
                  version->get<uint64_t>(), Cursor::kFormatVersion));
}

struct Differences {
  std::string sentences;
  bool only_versions = true;

  void Add(std::string sentence) {
    if (!sentences.empty()) sentences += ' ';
    sentences += sentence;
  }
  void AddOther(std::string sentence) {
    only_versions = false;
    Add(std::move(sentence));
  }
};

void Compare(const SourceCursor& saved, const SourceCursor& job, Differences* out) {
  std::string of = saved.name.empty() ? "" : fmt::format(" of \"{}\"", saved.name);
  if (saved.rows != job.rows) {
    out->AddOther(
        fmt::format("The cursor{} is of a table of {} rows, and this one has {}.", of,
                    saved.rows, job.rows));
  }
  if (saved.version != job.version) {
    out->Add(
        fmt::format("The cursor{} was saved with version {}, and this is version {}: "
                    "open that version, or begin a new epoch.",
                    of, saved.version.ToHex(), job.version.ToHex()));
  }
  if (saved.mode != job.mode) {
    out->AddOther(
        fmt::format("The cursor{} follows the {} order, and this job the {} one.", of,
                    OrderModeName(saved.mode), OrderModeName(job.mode)));
  }
  if (saved.seed != job.seed) {
    out->AddOther(fmt::format("The cursor{} has seed {}, and this job {}.", of,
                              saved.seed, job.seed));
  }
  if (saved.mode != OrderMode::kWindow || job.mode != OrderMode::kWindow) return;
  if (saved.window_ranges != job.window_ranges) {
    out->AddOther(
        fmt::format("The cursor{} shuffles windows of {} ranges, and this job of {}.", of,
                    saved.window_ranges, job.window_ranges));
  }
  if (saved.layout != job.layout) {
    out->AddOther(
        fmt::format("The rows{} are cut into other ranges than when the cursor "
                    "was saved, so their window order is another one.",
                    of));
  }
}

}  // namespace

std::string_view UntilName(Until until) {
  switch (until) {
    case Until::kFirstExhausted: return "first_exhausted";
    case Until::kAllExhausted: return "all_exhausted";
    case Until::kForever: return "forever";
  }
  return "unknown";
}

Result<Until> ParseUntil(std::string_view name) {
  for (Until until : kUntils) {
    if (name == UntilName(until)) return until;
  }
  return Status::Invalid(
      fmt::format("A mixture cannot last until \"{}\": use \"first_exhausted\", "
                  "\"all_exhausted\" or \"forever\".",
                  name));
}

SourceCursor SourceCursor::Of(const Order& order, const Hash128& version) {
  const Order::Options& options = order.options();
  SourceCursor out{.version = version,
                   .rows = options.rows,
                   .mode = options.mode,
                   .seed = options.seed,
                   .epoch = options.epoch};
  if (options.mode == OrderMode::kWindow) {
    out.window_ranges = options.window_ranges;
    out.layout = options.layout->hash();
  }
  return out;
}

std::string Cursor::ToJson() const {
  Json out{{"forebay_cursor", kFormatVersion}};
  if (!mixture) {
    FB_CHECK(sources.size() == 1);
    out.update(SourceJson(sources.front()));
    return out.dump();
  }
  FB_CHECK(mixture->taken_before.size() == sources.size());
  out["seed"] = mixture->seed;
  out["epoch"] = mixture->epoch;
  out["position"] = mixture->position;
  out["until"] = UntilName(mixture->until);
  out["weights"] = mixture->weights;
  out["weights_since"] = mixture->weights_since;
  out["sources"] = Json::array();
  for (size_t i = 0; i < sources.size(); ++i) {
    Json source = SourceJson(sources[i]);
    source["name"] = sources[i].name;
    source["taken_before"] = mixture->taken_before[i];
    out["sources"].push_back(std::move(source));
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Cursor> Cursor::FromJson(std::string_view text) {
  if (text.size() > kTextBytesMax)
    return Status::Invalid("This is too long for a cursor.");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Status::Invalid("The cursor is not JSON.");
  FB_RETURN_NOT_OK(CheckVersion(json));
  Cursor cursor;
  Fields fields(json);
  uint64_t version = 0;
  fields.Number("forebay_cursor", &version);
  if (fields.Has("sources")) {
    ReadMixture(fields, &cursor);
  } else {
    ReadSource(fields, &cursor.sources.emplace_back());
  }
  FB_RETURN_NOT_OK(fields.Finish());
  return cursor;
}

Status Cursor::Matches(const Cursor& job) const {
  Differences found;
  if (mixture.has_value() != job.mixture.has_value()) {
    return Status::Invalid(mixture ? "The cursor is of a mixture, and this job reads one "
                                     "dataset."
                                   : "The cursor is of one dataset, and this job reads a "
                                     "mixture.");
  }
  if (mixture && mixture->seed != job.mixture->seed) {
    found.AddOther(fmt::format("The cursor has seed {}, and this job {}.", mixture->seed,
                               job.mixture->seed));
  }
  if (mixture && mixture->until != job.mixture->until) {
    found.AddOther(
        fmt::format("The cursor's mixture lasts until {}, and this one until {}.",
                    UntilName(mixture->until), UntilName(job.mixture->until)));
  }
  if (sources.size() != job.sources.size()) {
    return Status::Invalid(fmt::format("The cursor has {} sources, and this job {}.",
                                       sources.size(), job.sources.size()));
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].name != job.sources[i].name) {
      found.AddOther(
          fmt::format("Source {} of the cursor is \"{}\", and of this job \"{}\".", i,
                      sources[i].name, job.sources[i].name));
      continue;
    }
    Compare(sources[i], job.sources[i], &found);
  }
  if (found.sentences.empty()) return Status::OK();
  return found.only_versions ? Status::Changed(found.sentences)
                             : Status::Invalid(found.sentences);
}

}  // namespace forebay::plan
