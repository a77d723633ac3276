#include "serve/api/answer_routes.h"

#include <algorithm>
#include <numeric>

#include "serve/api/exchange.h"
#include "serve/services/answer_service.h"

namespace heed::serve {
namespace {

constexpr size_t kMostSentences = 4096;
constexpr double kMostAnswers = 1000;

std::vector<std::string> sentences_of(JsonRequest& fields, const std::string& field) {
  std::vector<std::string> sentences = fields.texts(field, kMostSentences);
  for (const std::string& sentence : sentences) {
    check_length(field, sentence, kMostTextBytes);
  }
  return sentences;
}

Json likeliest_answers(const LoadedAnswerer& model, const Answered& answered, int64_t top) {
  const std::vector<float>& values = answered.probabilities;
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), static_cast<size_t>(top)));
  Json answers = Json::array();
  for (const size_t i : order) {
    answers.push_back({{"answer", model.config.labels[i]}, {"probability", values[i]}});
  }
  return answers;
}

Json result_of(const LoadedAnswerer& model, const AnswerJob& job, size_t index, int64_t top) {
  const Answered& answered = job.answers[index];
  Json result{{"question", job.questions[index].question},
              {"answer", model.config.labels[answered.best]},
              {"answers", likeliest_answers(model, answered, top)}};
  if (!job.look) {
    return result;
  }
  result["attention"] = Json::array();
  for (const FactAttention& look : answered.looks) {
    result["attention"].push_back(
        {{"layer", look.layer}, {"facts", look.facts}, {"question", look.question}});
  }
  if (answered.question_steps > 0.0F) {
    result["pondering"] = {{"facts", answered.fact_steps}, {"question", answered.question_steps}};
  }
  return result;
}

HttpResponse answer_questions(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = hub.find(fields.text("model", ""), "answer");
  const LoadedAnswerer& answerer = model.served_by<AnswerService>().model();
  const std::vector<std::string> facts = sentences_of(fields, "facts");
  std::vector<AskedQuestion> questions;
  for (const std::string& question : sentences_of(fields, "question")) {
    questions.push_back({facts, question});
  }
  if (questions.empty()) {
    refuse("question", "missing", "a text, or a list of texts");
  }
  const int64_t top = fields.integer("top", 5, {1, kMostAnswers});
  const bool look = fields.flag("attention", false);
  fields.finish();
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<AnswerJob>(reply, std::move(questions), look);
  submit(request, model, job);
  follow(request, *reply, 1);
  Json results = Json::array();
  for (size_t i = 0; i < job->size(); ++i) {
    results.push_back(result_of(answerer, *job, i, top));
  }
  return json_response({{"model", model.name}, {"results", results}});
}

}  // namespace

void add_answer_routes(HttpServer& server, Hub& hub) {
  server.route("POST", "/v1/answer",
               [&hub](const HttpRequest& request) { return answer_questions(request, hub); });
}

}  // namespace heed::serve
