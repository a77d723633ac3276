// Where model folders may be written.
#include "models/folder_output.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/folder.h"
#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;

TEST(FolderOutput, RefusesModelsRunsAndFilesOfOthers) {
  const TinyFolder made;
  const fs::path out = made.folder / "out";
  const auto refusal = [&](Existing existing) {
    return error_of([&] { convert_folder(made.path(), out, DType::bf16, existing); });
  };
  EXPECT_EQ(refusal(Existing::refuse), "no error");
  const std::string advice = "; give another folder, or replace it with --force";
  EXPECT_EQ(refusal(Existing::refuse),
            fmt::format("[model folder] {} holds another model{}", out.string(), advice));
  EXPECT_EQ(refusal(Existing::replace), "no error");
  write_file(out / "recipe.json", "{}");
  EXPECT_EQ(refusal(Existing::refuse),
            fmt::format("[model folder] {} holds a training run{}", out.string(), advice));
  write_file(out / "notes.txt", "mine");
  EXPECT_EQ(refusal(Existing::replace),
            fmt::format("[model folder] {} holds notes.txt, which is part of no model; move it, or "
                        "give another folder",
                        out.string()));
  fs::remove(out / "notes.txt");
  EXPECT_EQ(refusal(Existing::replace), "no error");
  EXPECT_FALSE(fs::exists(out / "recipe.json"));
}

TEST(FolderOutput, ReplacesNoRunThatIsBeingTrained) {
  const TinyFolder made;
  const fs::path out = made.folder / "out";
  fs::create_directories(out);
  write_file(out / "recipe.json", "{}");
  const FolderLock lock(out);
  const std::string error =
      error_of([&] { convert_folder(made.path(), out, DType::bf16, Existing::replace); });
  EXPECT_NE(error.find("is in use by process"), std::string::npos) << error;
  EXPECT_TRUE(fs::exists(out / "recipe.json"));
}

TEST(FolderOutput, TellsItsOwnFilesFromThoseOfOthers) {
  const TinyFolder made;
  const fs::path run = made.folder / "run";
  const std::vector<std::string> own{"config.json",
                                     "model.safetensors",
                                     "model-00001-of-00002.safetensors",
                                     "model.safetensors.tmp12-3",
                                     "source.tokenizer.model",
                                     "recipe.json",
                                     "log.jsonl",
                                     "checkpoint-7/model.safetensors",
                                     ".unfinished-checkpoint-9-12-3/state.json",
                                     "data/train.en"};
  const std::vector<std::string> foreign{"README.md", "model.bin", "source/train.txt"};
  for (const auto& names : {own, foreign}) {
    for (const std::string& name : names) {
      fs::create_directories((run / name).parent_path());
      write_file(run / name, "");
    }
  }
  const FolderContents contents = contents_of(run);
  EXPECT_EQ(contents.own.size(), own.size());
  EXPECT_EQ(contents.foreign,
            (std::vector<fs::path>{run / "README.md", run / "model.bin", run / "source"}));
  write_file(run / "data/mine.txt", "");  // then it is not ours to remove
  EXPECT_EQ(contents_of(run).own.size(), own.size() - 1);
}

}  // namespace
}  // namespace heed::testing
