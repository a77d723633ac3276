// Images for requests: a step draws the next sample of everybody's, wherever they stand.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "decode/images/sample_images.h"
#include "serve/engine.h"
#include "serve/pace.h"
#include "serve/services/offer.h"

namespace heed::serve {

// Images of one request. What is drawn so far comes as Progress, about ten times a second.
class ImageJob : public Job {
 public:
  ImageJob(std::shared_ptr<Reply> reply, SampleOptions wanted)
      : Job(std::move(reply)), options(std::move(wanted)) {}

  SampleOptions options;
  std::vector<int32_t> levels;  // [images, T] in raster order
};

class ImageService : public Service, public Offer {
 public:
  static bool serves(const ModelSpec& spec, const FolderConfig& config);
  static std::unique_ptr<ImageService> load(const FolderToServe& folder);

  explicit ImageService(std::shared_ptr<const LoadedImageModel> model) : model_(std::move(model)) {}

  void admit(Job& job) override;
  void turn() override;
  void drop(Job& job) override;
  void reset() override { works_.clear(); }

  std::set<std::string> abilities() const override;
  Json describe() const override;
  const LoadedImageModel& model() const { return *model_; }
  bool enlarges() const { return model_->model->source().rows > 0; }

 private:
  struct Work {
    ImageDrawing drawing;
    Pace pace = {};
  };
  // True when it is done.
  static bool report(ImageJob& job, Work& work);

  std::shared_ptr<const LoadedImageModel> model_;
  std::map<ImageJob*, Work> works_;
};

}  // namespace heed::serve
