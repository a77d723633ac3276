#include "train/distillation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "base/encoding/sha256.h"
#include "base/error.h"
#include "base/file.h"
#include "train/fertility.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// Enough to sort by length, and what an interruption loses at most.
constexpr size_t kDistilPool = 512;

// What a teacher's answers depend on: configuration, weights and tokenizers.
std::string teacher_sha256(const fs::path& folder, const Tokenizers& tokenizers) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (entry.is_regular_file() &&
        (path.filename() == "config.json" || path.extension() == ".safetensors" ||
         path.extension() == ".bin")) {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  std::string all = tokenizers.source->serialize() + tokenizers.target->serialize();
  for (const fs::path& file : files) {
    all += fmt::format("{} {}\n", file.filename().string(), sha256_of_file(file));
  }
  Sha256 sum;
  sum.update(std::as_bytes(std::span(all)));
  return sum.hex();
}

int64_t bytes_in(const std::vector<std::string>& lines) {
  int64_t bytes = 0;
  for (const std::string& line : lines) {
    bytes += std::ssize(line) + 1;
  }
  return bytes;
}

void remove_if_there(const fs::path& file) {
  std::error_code unknown;
  fs::remove(file, unknown);
}

}  // namespace

Distillation::Distillation(DistilOptions options) : options_(std::move(options)) {
  check_outputs();
  note("reading the source");
  source_ = measure(options_.sources);
  note("loading the teacher");
  teacher_ = load_translator(options_.teacher, options_.precision);
  options_.translator.on_decoded = [this](double share) { report(share); };
  translator_.emplace(*teacher_, options_.translator);
  open_parts();
  skip(output_->lines());
}

void Distillation::note(std::string_view what) const {
  if (options_.doing) {
    options_.doing(what);
  }
}

Distillation::Source Distillation::measure(const std::vector<fs::path>& files) {
  check(!files.empty(), "[distil] there is no source, expected at least one file");
  Source source;
  Sha256 sum;
  for (const fs::path& file : files) {
    check(fs::is_regular_file(file) || !fs::exists(file),
          "[distil] {} is not a regular file, and has to be read more than once", file.string());
    LineReader reader(file);
    for (std::string line; reader.next(line);) {
      line += '\n';
      sum.update(std::as_bytes(std::span(line)));
      ++source.lines;
      source.bytes += std::ssize(line);
    }
  }
  source.sha256 = sum.hex();
  return source;
}

void Distillation::check_outputs() const {
  check(options_.output != options_.alignments, "[distil] targets and alignments cannot both be {}",
        options_.output.string());
  for (const fs::path& file : {options_.output, options_.alignments}) {
    check(file.empty() || options_.force || !fs::exists(file),
          "[distil] {} exists already: give another name, or replace it with --force",
          file.string());
  }
}

fs::path Distillation::state_file() const {
  fs::path file = ResumableLines::part_of(options_.output);
  file += ".json";
  return file;
}

Json Distillation::beginning() const {
  const DecodeOptions& decode = options_.translator.decode;
  Json sources = Json::array();
  for (const fs::path& file : options_.sources) {
    sources.push_back(file.string());
  }
  return {{"teacher", options_.teacher.string()},
          {"teacher_sha256", teacher_sha256(options_.teacher, teacher_->tokenizers)},
          {"source", sources},
          {"source_sha256", source_.sha256},
          {"beam", decode.beam},
          {"length_penalty", decode.length_penalty},
          {"max_length", decode.max_length},
          {"precision", options_.precision ? name_of(*options_.precision) : "the model's"},
          {"alignments", !options_.alignments.empty()}};
}

// Why what was begun cannot be continued; empty: it can, or there is nothing. Where teacher and
// source lie does not matter, what they are does.
std::string Distillation::obstacle(const Json& now) const {
  const fs::path part = ResumableLines::part_of(options_.output);
  if (!fs::exists(part)) {
    return "";
  }
  if (!fs::exists(state_file())) {
    return fmt::format("{} is in the way, and no {} says what it was begun with", part.string(),
                       state_file().string());
  }
  const Json before = Json::parse(read_file(state_file()), nullptr, false);
  if (!before.is_object()) {
    return fmt::format("{} is not valid JSON", state_file().string());
  }
  for (const auto& [key, value] : now.items()) {
    const Json found = before.value(key, Json());
    if (key != "teacher" && key != "source" && found != value) {
      return fmt::format("{} was begun with {} = {}, and now it is {} ({} has all of it)",
                         part.string(), key, found.dump(), value.dump(), state_file().string());
    }
  }
  return "";
}

void Distillation::discard_parts() const {
  for (const fs::path& file : {options_.output, options_.alignments}) {
    if (!file.empty()) {
      remove_if_there(ResumableLines::part_of(file));
    }
  }
}

void Distillation::open_parts() {
  const Json now = beginning();
  if (const std::string why = obstacle(now); !why.empty()) {
    check(options_.force, "[distil] {}; --force begins anew", why);
    discard_parts();
  }
  write_file(state_file(), now.dump(2) + "\n");
  output_.emplace(options_.output);
  if (!options_.alignments.empty()) {
    alignments_.emplace(options_.alignments);
    const int64_t both = std::min(output_->lines(), alignments_->lines());
    output_->keep(both);
    alignments_->keep(both);
  }
}

bool Distillation::next_pool() {
  while (reader_ == nullptr || !reader_->next_pool(kDistilPool, pool_)) {
    if (file_ == options_.sources.size()) {
      return false;
    }
    reader_ = std::make_unique<LineReader>(options_.sources[file_++]);
  }
  return true;
}

void Distillation::skip(int64_t lines) {
  std::string line;
  for (int64_t done = 0; done < lines; ++done) {
    while (reader_ == nullptr || !reader_->next(line)) {
      check(file_ < options_.sources.size(), "[distil] {} has {} lines, more than the source",
            options_.output.string(), lines);
      reader_ = std::make_unique<LineReader>(options_.sources[file_++]);
    }
    bytes_ += std::ssize(line) + 1;
  }
}

DistilProgress Distillation::progress() const {
  return {.lines = output_->lines(),
          .total = source_.lines,
          .share = source_.bytes == 0
                       ? 1.0
                       : static_cast<double>(bytes_) / static_cast<double>(source_.bytes)};
}

void Distillation::report(double share_of_pool) const {
  if (options_.on_progress) {
    DistilProgress at = progress();
    at.lines += static_cast<int64_t>(share_of_pool * static_cast<double>(pool_.size()));
    at.share += share_of_pool * static_cast<double>(bytes_in(pool_)) /
                static_cast<double>(std::max<int64_t>(source_.bytes, 1));
    options_.on_progress(at);
  }
}

bool Distillation::advance() {
  if (pool_.empty() && !next_pool()) {
    return false;
  }
  std::vector<SourceText> texts;
  for (const std::string& line : pool_) {
    texts.push_back({line});
  }
  std::vector<std::string> targets;
  int64_t cut = 0;
  int64_t shortened = 0;
  for (Translator::Result& result : translator_->translate(texts)) {
    cut += result.cut ? 1 : 0;
    shortened += result.shortfall ? 1 : 0;
    targets.push_back(std::move(result.best.front().text));
  }
  if (alignments_) {
    alignments_->append(alignment_lines(targets));
  }
  output_->append(targets);
  cut_ += cut;
  short_ += shortened;
  bytes_ += bytes_in(pool_);
  pool_.clear();
  report(0.0);
  return true;
}

std::vector<std::string> Distillation::alignment_lines(
    const std::vector<std::string>& targets) const {
  std::vector<EncodedPair> pairs;
  std::vector<size_t> lines;
  for (size_t i = 0; i < pool_.size(); ++i) {
    EncodedPair pair{.source = teacher_->tokenizers.source->encode(pool_[i]),
                     .target = teacher_->tokenizers.target->encode(targets[i])};
    if (fits_fertilities(*teacher_, pair)) {
      pairs.push_back(std::move(pair));
      lines.push_back(i);
    }
  }
  const int64_t batch_tokens =
      std::max<int64_t>(1, options_.translator.batch_tokens / options_.translator.decode.beam);
  const auto counts = fertilities(*teacher_, pairs, batch_tokens);
  std::vector<std::string> texts(pool_.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    texts[lines[i]] = fmt::format("{}", fmt::join(counts[i], " "));
  }
  return texts;
}

void Distillation::commit() {
  check(output_->lines() == source_.lines,
        "[distil] {} has {} lines and the source {}; did the source change meanwhile?",
        options_.output.string(), output_->lines(), source_.lines);
  if (alignments_) {
    alignments_->commit();
  }
  output_->commit();
  remove_if_there(state_file());
}

}  // namespace heed
