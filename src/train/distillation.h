// Sequence-level knowledge distillation (Kim and Rush 2016): a teacher translates the source side
// of a corpus with beam search, and a student learns from these translations instead of the
// references. They are simpler and more regular than what people wrote, which models that say many
// words at once need.
//
// Such a job may take days. It is written as it goes (data/text/resumable_lines.h), and
// OUTPUT.part.json says what it was begun with; a job that ended, however it ended, is continued by
// the same options and ends with the same bytes, since a translation does not depend on its batch.
// Belongs to one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "data/text/lines.h"
#include "data/text/resumable_lines.h"
#include "decode/text/translator.h"
#include "models/folder.h"

namespace heed {

struct DistilProgress {
  int64_t lines = 0;   // that are done
  int64_t total = 0;   // of all sources
  double share = 0.0;  // of the work, by the length of the lines
};

struct DistilOptions {
  std::filesystem::path teacher;  // a model folder
  std::optional<DType> precision = {};
  std::vector<std::filesystem::path> sources;  // read one after the other
  std::filesystem::path output;                // aligned with their lines; gzip if it ends in .gz
  std::filesystem::path alignments = {};       // fertilities, one line for each; empty: none
  TranslatorOptions translator = {};
  // Replaces files that are there already and a job that was begun otherwise.
  bool force = false;
  std::function<void(std::string_view)> doing = {};             // what takes time before the start
  std::function<void(const DistilProgress&)> on_progress = {};  // many times within an advance()
};

class Distillation {
 public:
  // Finds out what is to be done and has been done, and loads the teacher. An Error if an output
  // exists, or if a job was begun there with another teacher, source or option.
  explicit Distillation(DistilOptions options);

  // Makes and writes the next few hundred lines; false if there are none. What an exception, such
  // as Interrupted, leaves undone is done by the next call or the next process.
  bool advance();
  // Gives the outputs their names, once all lines are there.
  void commit();

  DistilProgress progress() const;
  int64_t cut_lines() const { return cut_; }      // so far too long for the teacher, in pieces
  int64_t short_lines() const { return short_; }  // whose translation probably lacks something

 private:
  struct Source {
    int64_t lines = 0;
    int64_t bytes = 0;
    std::string sha256;  // of the lines, whatever the file they come from
  };

  static Source measure(const std::vector<std::filesystem::path>& files);
  Json beginning() const;
  std::filesystem::path state_file() const;
  void check_outputs() const;
  std::string obstacle(const Json& now) const;
  void discard_parts() const;
  void open_parts();
  void skip(int64_t lines);
  bool next_pool();
  std::vector<std::string> alignment_lines(const std::vector<std::string>& targets) const;
  void note(std::string_view what) const;
  void report(double share_of_pool) const;

  DistilOptions options_;
  Source source_;
  std::optional<ResumableLines> output_;
  std::optional<ResumableLines> alignments_;
  std::unique_ptr<LoadedTranslator> teacher_;
  std::optional<Translator> translator_;

  size_t file_ = 0;  // options_.sources[file_ - 1] is being read
  std::unique_ptr<LineReader> reader_;
  std::vector<std::string> pool_;  // lines that are read and not yet done
  int64_t bytes_ = 0;              // of the lines that are done
  int64_t cut_ = 0;
  int64_t short_ = 0;
};

}  // namespace heed
