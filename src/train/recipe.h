// Recipes: everything a training is told, as one TOML file. `--set key=value` changes single keys.
//
// A recipe that was read has every field filled in and checked; write_recipe() gives it back as
// JSON, which is what a run folder keeps and what a resumed run is compared with.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/config.h"
#include "tasks/image_data.h"
#include "text/tokenizer.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace heed {

struct DataConfig {
  std::string builtin;              // "demo": the corpus that is built in; then no files
  std::vector<std::string> source;  // files, plain or gzip
  std::vector<std::string> target;  // aligned with them
  std::vector<std::string> tsv;     // or both in one: source TAB target
  std::string valid_source, valid_target;
  std::string test_source, test_target;
  std::vector<std::string> text;  // for language models
  std::string valid_text, test_text;
  std::vector<std::string> table;  // of labelled texts
  std::string valid_table, test_table;
  std::vector<std::string> midi;  // files and folders of performances
  std::vector<std::string> valid_midi, test_midi;
  std::string chorales;  // JSON with its own splits
  std::string form;
  int64_t transpose = 0;
  std::vector<double> stretch = {1.0};
  std::string text_column = "1", pair_column, label_column = "2";
  bool score = false;
  bool next_sentence = false;
  double valid_share = 0.0;
  bool line_end = false;
  int64_t max_length = 128;
  int64_t batch_tokens = 4096;
  int64_t pool = 200000;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("builtin", builtin, "a built-in corpus instead of files", {.choices = {"", "demo"}});
    v("source", source, "source files, plain or gzip, one sentence a line");
    v("target", target, "target files, aligned line by line");
    v("tsv", tsv, "files with source TAB target in each line, instead of source and target");
    v("valid_source", valid_source, "held-out source file for validation");
    v("valid_target", valid_target, "its translation");
    v("test_source", test_source, "held-out source file for the last score");
    v("test_target", test_target, "its translation");
    v("text", text, "files of plain text, for language models");
    v("valid_text", valid_text, "held-out text for validation");
    v("test_text", test_text, "held-out text for the last score");
    v("table", table, "TSV files of labelled texts, for tasks classify and similarity");
    v("valid_table", valid_table, "held-out table for validation");
    v("test_table", test_table, "held-out table for the last score");
    v("midi", midi, "MIDI files and folders of them, for tasks music and accompany");
    v("valid_midi", valid_midi, "held-out MIDI files and folders for validation");
    v("test_midi", test_midi, "held-out MIDI files and folders for the last score");
    v("chorales", chorales, "JSON file of chorales with train, valid and test, instead of midi");
    v("form", form,
      "of music: events of a performance, or pitches of four voices; empty: chorales are chorales",
      {.choices = {"", "performance", "chorale"}});
    v("transpose", transpose, "music is moved by up to so many semitones either way",
      {.least = 0, .most = 24});
    v("stretch", stretch, "music lasts one of these times as long, drawn anew each time",
      {.least = 0.1, .most = 10});
    v("text_column", text_column, "column of the text, by name or by number from 1");
    v("pair_column", pair_column, "column of the second text of a pair; empty: none");
    v("label_column", label_column, "column of the class or score");
    v("score", score, "labels are numbers to be estimated, not classes");
    v("next_sentence", next_sentence, "masked: also learn whether the second text follows");
    v("valid_share", valid_share,
      "without valid_text: the last part of the text is held out; without valid_midi: files that "
      "their names choose",
      {.least = 0, .most = 0.9});
    v("line_end", line_end, "an END token behind every line of text instead of a line end");
    v("max_length", max_length,
      "pairs with more tokens on a side are skipped; the window of a language model that "
      "looks back without end: longer pieces of music are cropped to it, and those with an "
      "accompaniment cut into windows",
      {.least = 1, .most = 100000});
    v("batch_tokens", batch_tokens, "padded tokens in a batch, on each side",
      {.least = 1, .most = 1 << 24});
    v("pool", pool, "pairs shuffled and sorted by length together", {.least = 1, .most = 1e9});
  }
};

struct TextConfig {
  std::string kind = "unigram";
  int64_t vocabulary = 8000;
  bool joint = true;
  bool lower_case = false;
  float character_coverage = 1.0F;
  int64_t sample = 1000000;
  std::string folder;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("kind", kind, "pieces of words, bytes, words, characters, or tokens with spaces between",
      {.choices = tokenizer_kinds()});
    v("vocabulary", vocabulary, "at most this many tokens, special ones included",
      {.least = 5, .most = 1 << 20});
    v("joint", joint, "one vocabulary for both languages");
    v("lower_case", lower_case, "all text is lower-cased first");
    v("character_coverage", character_coverage, "share of characters that get a piece",
      {.least = 0.9, .most = 1});
    v("sample", sample, "lines of each side that the vocabulary is made from", {.least = 1});
    v("folder", folder, "take the tokenizer from this folder instead of making one");
  }
};

struct StepConfig {
  std::string from;
  int64_t steps = 0;
  double epochs = 0;
  double minutes = 0;
  std::string precision = "bf16";
  uint64_t seed = 1;
  int64_t accumulate = 1;
  std::string loss = "cross_entropy";
  float label_smoothing = 0.1F;
  float agreement = 0.0F;
  float clip = 0.0F;
  float ema = 0.0F;
  int64_t average = 0;
  int64_t log_every = 50;
  int64_t most_skips = 20;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("from", from, "model folder whose weights and tokenizer the training begins with");
    v("steps", steps, "stop after so many steps; 0: no limit", {.least = 0});
    v("epochs", epochs, "stop after so many passes over the data; 0: no limit", {.least = 0});
    v("minutes", minutes, "stop after so many minutes of training; 0: no limit", {.least = 0});
    v("precision", precision, "of the products; master weights are always f32",
      {.choices = {"f32", "bf16"}});
    v("seed", seed, "of first values, data order and dropout");
    v("accumulate", accumulate, "batches whose gradients make one step",
      {.least = 1, .most = 4096});
    v("loss", loss, "what is minimised", {.choices = {"cross_entropy", "kl", "mse"}});
    v("label_smoothing", label_smoothing, "probability spread over all tokens",
      {.least = 0, .most = 0.99});
    v("agreement", agreement,
      "each batch is shown twice, with dropout of its own: how much the two predictions shall "
      "agree (R-Drop); 0: once",
      {.least = 0});
    v("clip", clip, "largest norm of the gradient; 0: any", {.least = 0});
    v("ema", ema, "decay of an exponential average of the weights, which is then used; 0: none",
      {.least = 0, .most = 0.999999});
    v("average", average, "average the last so many checkpoints at the end; 0: none",
      {.least = 0, .most = 1000});
    v("log_every", log_every, "steps between lines of progress", {.least = 1});
    v("most_skips", most_skips, "steps in a row with a loss that is not finite before giving up",
      {.least = 1});
  }
};

struct ValidationConfig {
  int64_t every = 500;
  bool bleu = true;
  int64_t sentences = 0;
  int64_t beam = 1;
  float length_penalty = 0.6F;
  int64_t patience = 0;
  std::string metric;
  std::string best_by = "score";

  template <typename Visitor>
  void fields(Visitor& v) {
    v("every", every, "steps between validations; 0: only at the end", {.least = 0});
    v("bleu", bleu, "also translate and score");
    v("sentences", sentences, "translate only the first so many; 0: all", {.least = 0});
    v("beam", beam, "of these translations", {.least = 1, .most = 64});
    v("length_penalty", length_penalty, "of these translations", {.least = 0, .most = 10});
    v("patience", patience, "validations without improvement before stopping; 0: never",
      {.least = 0});
    v("metric", metric, "classify: what is measured; empty: accuracy, of scores spearman",
      {.choices = {"", "accuracy", "f1", "matthews", "pearson", "spearman"}});
    v("best_by", best_by, "what decides which model is kept", {.choices = {"score", "loss"}});
  }
};

struct SimilarityConfig {
  std::string loss = "cosine";
  std::string pooling = "mean";
  float scale = 20.0F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("loss", loss, "cosine: it follows the score; in_batch: pairs belong together, others do not",
      {.choices = {"cosine", "in_batch"}});
    v("pooling", pooling, "how a text's tokens become one vector",
      {.choices = {"mean", "cls", "max"}});
    v("scale", scale, "in_batch: factor on the cosines before the softmax", {.least = 0});
  }
};

struct CheckpointConfig {
  int64_t every = 1000;
  int64_t keep = 3;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("every", every, "steps between checkpoints; 0: only at the end", {.least = 0});
    v("keep", keep, "how many of the last ones stay", {.least = 1, .most = 10000});
  }
};

struct Recipe {
  std::string task = "translate";
  Json model = Json::object();  // resolved: see models/registry.h
  DataConfig data;
  ImageDataConfig image;
  TextConfig text;
  StepConfig train;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  ValidationConfig validation;
  CheckpointConfig checkpoint;
  SimilarityConfig similarity;

  // Everything but the model, which has fields of its kind.
  template <typename Visitor>
  void fields(Visitor& v) {
    v("task", task, "what is learned",
      {.choices = {"translate", "language", "masked", "classify", "similarity", "summarise",
                   "music", "accompany", "image"}});
    v("data", data, "what is read");
    v("image", image, "which images are read, for task image");
    v("text", text, "the tokenizer");
    v("train", train, "the training");
    v("optimizer", optimizer, "how weights change");
    v("schedule", schedule, "how the learning rate changes");
    v("validation", validation, "how progress is judged");
    v("checkpoint", checkpoint, "what is kept");
    v("similarity", similarity, "how texts are compared, for task similarity");
  }
};

// `base = "OTHER.toml"` takes everything over from another recipe that is not said anew. Files
// named in the recipe are relative to it; ${HEED_DATA} stands for that folder, by default
// ../shared/data. `settings` are "key=value" with values as TOML writes them (a text may do without
// quotes).
Recipe read_recipe(const std::filesystem::path& file, std::span<const std::string> settings = {});
Recipe parse_recipe(Json json, const std::string& where);
Json write_recipe(const Recipe& recipe);

}  // namespace heed
