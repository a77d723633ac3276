#include "serve/image_service.h"

#include "base/error.h"

namespace heed::serve {

void ImageService::admit(Job& job) {
  auto* wanted = dynamic_cast<ImageJob*>(&job);
  check(wanted != nullptr, "[serve] this model only draws images");
  works_.emplace(wanted, Work{ImageDrawing(*model_->model, wanted->options)});
}

void ImageService::drop(Job& job) { works_.erase(dynamic_cast<ImageJob*>(&job)); }

bool ImageService::advance(ImageJob& job, Work& work) {
  constexpr int kStepsATurn = 8;
  for (int i = 0; i < kStepsATurn && !work.drawing.finished(); ++i) {
    work.drawing.step();
    job.tokens_out += job.options.images;
  }
  if (work.drawing.finished()) {
    job.levels = work.drawing.levels();
    return true;
  }
  if (work.pace.due()) {
    const auto all =
        static_cast<double>(work.drawing.levels().size()) / static_cast<double>(job.options.images);
    job.tell(Progress{.share = static_cast<double>(work.drawing.steps()) / all,
                      .done = work.drawing.steps(),
                      .so_far = work.drawing.levels()});
  }
  return false;
}

void ImageService::turn() {
  for (auto next = works_.begin(); next != works_.end();) {
    const auto current = next++;
    ImageJob& job = *current->first;
    try {
      if (advance(job, current->second)) {
        works_.erase(current);
        job.finish();
      }
    } catch (...) {
      works_.erase(current);
      job.fail_with_exception(Fault::engine);
    }
  }
}

}  // namespace heed::serve
