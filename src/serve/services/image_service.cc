#include "serve/services/image_service.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace heed::serve {

void ImageService::admit(Job& job) {
  auto* wanted = dynamic_cast<ImageJob*>(&job);
  check(wanted != nullptr, "[serve] this model only draws images");
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
