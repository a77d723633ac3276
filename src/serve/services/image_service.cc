#include "serve/services/image_service.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace heed::serve {

bool ImageService::serves(const ModelSpec& spec, const FolderConfig& /*config*/) {
  return spec.interface == ModelInterface::image;
}

std::unique_ptr<ImageService> ImageService::load(const FolderToServe& folder) {
  return std::make_unique<ImageService>(load_as<ImageModel>(folder.path, folder.compute));
}

std::set<std::string> ImageService::abilities() const { return {"image"}; }

Json ImageService::describe() const {
  const ImageLayout& layout = model_->model->layout();
  const ImageLayout source = model_->model->source();
  const std::vector<std::string>& labels = model_->config.labels;
  Json classes = Json::array();
  for (int64_t i = 0; i < model_->model->classes(); ++i) {
    classes.push_back(i < std::ssize(labels) ? labels[static_cast<size_t>(i)] : std::to_string(i));
  }
  return {{"rows", layout.rows},
          {"columns", layout.columns},
          {"channels", layout.channels},
          {"levels", layout.levels},
          {"enlarges", enlarges()},
          {"source_rows", source.rows},
          {"source_columns", source.columns},
          {"classes", classes}};
}

void ImageService::admit(Job& job) {
  auto* wanted = dynamic_cast<ImageJob*>(&job);
  check(wanted != nullptr, "[serve] this model only generates images");
  works_.emplace(wanted, Work{ImageDrawing(*model_->model, wanted->options)});
}

void ImageService::drop(Job& job) { works_.erase(dynamic_cast<ImageJob*>(&job)); }

bool ImageService::report(ImageJob& job, Work& work) {
  const ImageDrawing& drawing = work.drawing;
  job.tokens_out = drawing.steps() * job.options.images;
  if (drawing.finished()) {
    job.levels = drawing.levels();
    return true;
  }
  if (work.pace.due()) {
    const auto all =
        static_cast<double>(drawing.levels().size()) / static_cast<double>(job.options.images);
    job.tell(Progress{.share = static_cast<double>(drawing.steps()) / all,
                      .done = drawing.steps(),
                      .so_far = drawing.levels()});
  }
  return false;
}

void ImageService::turn() {
  // About as long as a step of a language model takes, so that models share the processor evenly.
  constexpr auto kTurn = std::chrono::milliseconds(50);
  const auto end = std::chrono::steady_clock::now() + kTurn;
  bool finished = works_.empty();
  while (!finished && std::chrono::steady_clock::now() < end) {
    std::vector<ImageDrawing*> drawings;
    for (auto& [job, work] : works_) {
      drawings.push_back(&work.drawing);
    }
    ImageDrawing::step_together(drawings);
    finished = std::any_of(drawings.begin(), drawings.end(),
                           [](const ImageDrawing* drawing) { return drawing->finished(); });
  }
  for (auto next = works_.begin(); next != works_.end();) {
    const auto current = next++;
    ImageJob& job = *current->first;
    if (report(job, current->second)) {
      works_.erase(current);
      job.finish();
    }
  }
}

}  // namespace heed::serve
