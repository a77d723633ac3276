#include "serve/api/image_routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding/base64.h"
#include "data/images/resize.h"
#include "serve/api/exchange.h"
#include "serve/api/sampling_fields.h"
#include "serve/services/image_service.h"

namespace heed::serve {
namespace {

constexpr double kMostImages = 16;
constexpr uint64_t kMostPixelBytes = uint64_t{1} << 24;  // of a picture that is given

// By name or number.
std::string read_class(JsonRequest& fields) {
  const Json& wanted = fields.raw("class");
  return wanted.is_number_integer() ? wanted.dump() : fields.text("class", "");
}

// The request's picture as levels of the layout, resized if need be.
std::vector<int32_t> read_picture(JsonRequest& fields, const ImageLayout& layout) {
  const std::string bytes = bytes_of(fields, "png");
  Image image = as_rgb(decode_png(std::as_bytes(std::span(bytes)), "png", kMostPixelBytes));
  ImageSet set{.height = image.height, .width = image.width, .channels = image.channels};
  set.pixels = std::move(image.pixels);
  set = prepared(std::move(set), options_for(layout));
  return {set.pixels.begin(), set.pixels.end()};
}

Tensor repeated(const std::vector<int32_t>& values, int64_t times) {
  std::vector<int32_t> all;
  for (int64_t i = 0; i < times; ++i) {
    all.insert(all.end(), values.begin(), values.end());
  }
  return Tensor::from_ints(all, {times, std::ssize(values)});
}

Json pictures(const ImageLayout& layout, const std::vector<int32_t>& levels) {
  const ImageSet set = image_set(layout, levels);
  Json list = Json::array();
  for (int64_t i = 0; i < set.count(); ++i) {
    list.push_back(base64(encode_png(picture_of(set, i))));
  }
  return list;
}

HttpResponse draw(const HttpRequest& request, const ServedModel& model, SampleOptions options,
                  bool stream) {
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<ImageJob>(reply, std::move(options));
  submit(request, model, job);
  const ImageLayout layout = model.served_by<ImageService>().model().model->layout();
  return answer_job(request, {.reply = reply,
                              .stream = stream,
                              .progress = [layout](const Progress& progress) -> Json {
                                return {{"step", progress.done},
                                        {"steps", layout.samples()},
                                        {"images", pictures(layout, progress.so_far)}};
                              },
                              .answer = [job, layout, name = model.name]() -> Json {
                                return {{"model", name}, {"images", pictures(layout, job->levels)}};
                              }});
}

// What all three have in common; `fields` still has what is the kind's own.
struct ImageRequest {
  JsonRequest fields;
  const ServedModel* model = nullptr;
  const ImageService* service = nullptr;
  SampleOptions options = {};
  bool stream = false;

  ImageRequest(const HttpRequest& request, const Hub& hub) : fields(request.body) {
    model = &hub.find(fields.text("model", ""), "image");
    service = &model->served_by<ImageService>();
    options.images = fields.integer("count", 1, {1, kMostImages});
    options.sampling = read_sampling(fields, {});
    options.seed = read_seed(fields);
    options.conditions.classes = classes_for(service->model(), read_class(fields), options.images);
    stream = fields.flag("stream", false);
  }
  void expect_enlarging(bool wanted) const {
    if (service->enlarges() != wanted) {
      throw HttpError(
          400,
          fmt::format("model {} {} images; use /v1/image/{}", model->name,
                      wanted ? "does not upscale" : "upscales", wanted ? "sample" : "upscale"),
          "model", "wrong_model");
    }
  }
};

HttpResponse sample(const HttpRequest& request, const Hub& hub) {
  ImageRequest wanted(request, hub);
  wanted.expect_enlarging(false);
  wanted.fields.finish();
  return draw(request, *wanted.model, std::move(wanted.options), wanted.stream);
}

HttpResponse complete_images(const HttpRequest& request, const Hub& hub) {
  ImageRequest wanted(request, hub);
  wanted.expect_enlarging(false);
  const ImageLayout& layout = wanted.service->model().model->layout();
  const std::vector<int32_t> picture = read_picture(wanted.fields, layout);
  const int64_t rows =
      wanted.fields.integer("rows_given", layout.rows / 2, {0, static_cast<double>(layout.rows)});
  wanted.fields.finish();
  wanted.options.conditions.values = repeated(picture, wanted.options.images);
  wanted.options.given.assign(static_cast<size_t>(layout.samples()), false);
  std::fill_n(wanted.options.given.begin(), rows * layout.columns * layout.channels, true);
  return draw(request, *wanted.model, std::move(wanted.options), wanted.stream);
}

HttpResponse upscale(const HttpRequest& request, const Hub& hub) {
  ImageRequest wanted(request, hub);
  wanted.expect_enlarging(true);
  const std::vector<int32_t> picture =
      read_picture(wanted.fields, wanted.service->model().model->source());
  wanted.fields.finish();
  wanted.options.conditions.source = repeated(picture, wanted.options.images);
  return draw(request, *wanted.model, std::move(wanted.options), wanted.stream);
}

}  // namespace

void add_image_routes(HttpServer& server, Hub& hub) {
  server.route("POST", "/v1/image/sample",
               [&hub](const HttpRequest& request) { return sample(request, hub); });
  server.route("POST", "/v1/image/complete",
               [&hub](const HttpRequest& request) { return complete_images(request, hub); });
  server.route("POST", "/v1/image/upscale",
               [&hub](const HttpRequest& request) { return upscale(request, hub); });
}

}  // namespace heed::serve
