// A teacher's translations of a corpus: aligned, resumable, and never written over anything.
#include "train/distillation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <sstream>

#include "base/file.h"
#include "base/interrupt.h"
#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

// A teacher and two source files: with empty lines, one that is far too long, and one that is no
// UTF-8.
struct Job {
  Job() {
    std::string text = "the quick\n\nbrown fox.\n   \n";
    for (int i = 0; i < 40; ++i) {
      text += "lazy dog\n" + std::string(static_cast<size_t>(i % 7), 'o') + "ver\n";
    }
    for (int i = 0; i < 80; ++i) {
      text += "the quick brown fox jumps over the lazy dog ";
    }
    first = text + "\nbad \xff byte\n";
    folder.write("a.en", first);
    folder.write_gzip("b.en.gz", "fox\r\nthe");
  }

  DistilOptions options(const std::string& output = "out.de") const {
    return {.teacher = teacher.path(),
            .sources = {folder / "a.en", folder / "b.en.gz"},
            .output = folder / output,
            .translator = {.decode = {.beam = 2, .max_length = 8}, .batch_tokens = 200}};
  }
  static std::string finished(const DistilOptions& options) {
    Distillation work(options);
    while (work.advance()) {
    }
    work.commit();
    return read_file(options.output);
  }

  TinyFolder teacher{Json{{"kind", "transformer"},
                          {"width", 16},
                          {"heads", 2},
                          {"hidden", 24},
                          {"encoder_layers", 1},
                          {"decoder_layers", 1}},
                     3};
  TemporaryFolder folder;
  std::string first;
};

TEST(Distillation, ALineForEachLine) {
  const Job job;
  DistilOptions options = job.options();
  std::vector<DistilProgress> seen;
  options.on_progress = [&](const DistilProgress& at) { seen.push_back(at); };
  const std::string text = Job::finished(options);
  const std::vector<std::string> lines = read_lines(job.folder / "out.de");
  const std::vector<std::string> sources = [&] {
    std::vector<std::string> all = read_lines(job.folder / "a.en");
    all.insert(all.end(), {"fox", "the"});
    return all;
  }();
  ASSERT_EQ(lines.size(), sources.size());
  const auto model = load_translator(job.teacher.path(), std::nullopt);
  const Translator translator(*model, options.translator);
  for (size_t i = 0; i < lines.size(); ++i) {
    const SourceText source{sources[i]};
    EXPECT_EQ(lines[i], translator.translate(std::span(&source, 1)).front().best.front().text)
        << "line " << i + 1;
  }
  EXPECT_EQ(lines[1], "");
  EXPECT_EQ(lines[3], "");
  EXPECT_GT(lines[84].size(), 100U) << "the long line lost something";
  ASSERT_FALSE(seen.empty());
  for (size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GE(seen[i].share, seen[i - 1].share);
    EXPECT_GE(seen[i].lines, seen[i - 1].lines);
  }
  EXPECT_DOUBLE_EQ(seen.back().share, 1.0);
  EXPECT_EQ(seen.back().lines, std::ssize(lines));
  EXPECT_EQ(seen.back().total, std::ssize(lines));
  EXPECT_FALSE(std::filesystem::exists(job.folder / "out.de.part.json"));
}

TEST(Distillation, GzipHoldsTheSame) {
  const Job job;
  Job::finished(job.options());
  Job::finished(job.options("out.de.gz"));
  EXPECT_EQ(read_lines(job.folder / "out.de.gz"), read_lines(job.folder / "out.de"));
  EXPECT_EQ(read_file(job.folder / "out.de.gz").substr(0, 2), "\x1f\x8b");
}

// A process may end anywhere: behind any line, within one, and with alignments that are ahead.
TEST(Distillation, GoesOnWithTheSameBytes) {
  const Job job;
  DistilOptions whole = job.options("whole.de");
  whole.alignments = job.folder / "whole.counts";
  const std::string expected = Job::finished(whole);
  const std::string counts = read_file(whole.alignments);
  DistilOptions options = job.options();
  options.alignments = job.folder / "out.counts";
  {
    Distillation begun(options);
    EXPECT_TRUE(begun.advance());
  }
  const std::string state = read_file(job.folder / "out.de.part.json");
  for (const size_t bytes : {size_t{0}, size_t{1}, expected.size() / 2, expected.size()}) {
    job.folder.write("out.de.part", expected.substr(0, bytes));
    job.folder.write("out.counts.part", counts.substr(0, counts.size() / 3));
    job.folder.write("out.de.part.json", state);
    options.sources = {job.folder / "copy.en", job.folder / "b.en.gz"};  // the same lines elsewhere
    job.folder.write("copy.en", job.first);
    EXPECT_EQ(Job::finished(options), expected) << bytes;
    EXPECT_EQ(read_file(options.alignments), counts) << bytes;
    std::filesystem::remove(options.output);
    std::filesystem::remove(options.alignments);
  }
}

TEST(Distillation, InterruptedWithinAPool) {
  const Job job;
  const std::string expected = Job::finished(job.options("whole.de"));
  DistilOptions options = job.options();
  std::atomic<bool> stop = false;
  options.on_progress = [&](const DistilProgress& at) { stop = at.lines > 30; };
  Distillation work(options);
  int interruptions = 0;
  for (bool more = true; more;) {
    try {
      const InterruptScope scope(stop);
      more = work.advance();
    } catch (const Interrupted&) {
      ++interruptions;
      stop = false;
      more = false;
    }
  }
  EXPECT_EQ(interruptions, 1);
  EXPECT_GT(work.progress().lines, 0);
  EXPECT_LT(work.progress().lines, work.progress().total);
  // The pool that was interrupted is made by the next call.
  while (work.advance()) {
  }
  work.commit();
  EXPECT_EQ(read_file(job.folder / "out.de"), expected);
}

TEST(Distillation, CountsForEveryLine) {
  const Job job;
  DistilOptions options = job.options();
  options.alignments = job.folder / "out.counts.gz";
  Job::finished(options);
  const std::vector<std::string> targets = read_lines(options.output);
  const std::vector<std::string> counts = read_lines(options.alignments);
  const std::vector<std::string> sources = read_lines(job.folder / "a.en");
  ASSERT_EQ(counts.size(), targets.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    std::istringstream stream(counts[i]);
    const std::vector<int64_t> numbers(std::istream_iterator<int64_t>(stream), {});
    if (sources[i].size() > 1000) {
      EXPECT_EQ(counts[i], "");
      continue;
    }
    EXPECT_EQ(numbers.size(), job.teacher.tokenizer->encode(sources[i]).size() + 1) << i;
    EXPECT_EQ(std::reduce(numbers.begin(), numbers.end()),
              std::ssize(job.teacher.tokenizer->encode(targets[i])))
        << i;
  }
  EXPECT_EQ(counts[1], "0") << "of an empty line there is END";
}

TEST(Distillation, OtherBeginnings) {
  const Job job;
  const std::string expected = Job::finished(job.options());
  expect_error([&] { Distillation{job.options()}; },
               "[distil] " + (job.folder / "out.de").string() +
                   " exists already: give another name, or replace it with --force");
  const auto begin = [&] {
    Distillation begun(job.options("new.de"));
    begun.advance();
  };
  const std::string part = (job.folder / "new.de.part").string();
  const auto expect_refusal = [&](const DistilOptions& options, const std::string& text) {
    const std::string found = error_of([&] { Distillation{options}; });
    EXPECT_TRUE(found.starts_with("[distil] " + part + " was begun with " + text)) << found;
    EXPECT_TRUE(found.ends_with("new.de.part.json has all of it); --force begins anew")) << found;
  };
  begin();
  const std::string begun = read_file(part);
  DistilOptions options = job.options("new.de");
  options.translator.decode.beam = 3;
  expect_refusal(options, "beam = 2, and now it is 3");
  options = job.options("new.de");
  options.precision = DType::bf16;
  expect_refusal(options, "precision = \"the model's\", and now it is \"bf16\"");
  options = job.options("new.de");
  options.sources.pop_back();
  expect_refusal(options, "source_sha256 = ");
  options = job.options("new.de");
  options.alignments = job.folder / "counts";
  expect_refusal(options, "alignments = false, and now it is true");
  const TinyFolder other(job.teacher.config.model, 4);
  options = job.options("new.de");
  options.teacher = other.path();
  expect_refusal(options, "teacher_sha256 = ");
  EXPECT_EQ(read_file(part), begun) << "a refusal changed what was begun";
  options.force = true;
  EXPECT_NE(Job::finished(options), expected);
  std::filesystem::remove(job.folder / "new.de");
  job.folder.write("new.de.part", "mine\n");
  expect_error([&] { Distillation{job.options("new.de")}; },
               "[distil] " + part + " is in the way, and no " + part +
                   ".json says what it was begun with; --force begins anew");
}

TEST(Distillation, BadSources) {
  const Job job;
  DistilOptions options = job.options();
  options.sources = {};
  expect_error([&] { Distillation{options}; },
               "[distil] there is no source, expected at least one file");
  options.sources = {job.folder / ""};
  EXPECT_TRUE(error_of([&] {
                Distillation{options};
              }).ends_with("is not a regular file, and has to be read more than once"));
  options.sources = {job.folder / "none"};
  EXPECT_NE(error_of([&] { Distillation{options}; }).find("cannot open"), std::string::npos);
  options = job.options();
  options.alignments = options.output;
  EXPECT_TRUE(
      error_of([&] { Distillation{options}; }).starts_with("[distil] targets and alignments"));
  // A source that shrinks while it is read: nothing gets the name of a whole file.
  options = job.options();
  Distillation work(options);
  job.folder.write("a.en", "one line\n");
  while (work.advance()) {
  }
  EXPECT_NE(error_of([&] { work.commit(); }).find("did the source change meanwhile?"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

}  // namespace
}  // namespace heed::testing
