#include "serve/api/openai_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "serve/api/exchange.h"
#include "serve/api/sampling_fields.h"
#include "serve/services/completion_service.h"
#include "serve/services/encode_service.h"

namespace heed::serve {
namespace {

constexpr size_t kMostPrompts = 64;
constexpr size_t kMostInputs = 2048;  // as OpenAI has it
constexpr size_t kMostStops = 16;
constexpr double kMostLogProbabilities = 20;
constexpr double kMostChoices = 64;
constexpr int64_t kLongestPrompt = 32768;  // of models that look at any number of tokens

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::vector<int32_t> ids_of(const std::string& field, const Json& list, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer() || id.get<double>() < 0 ||
        id.get<double>() >= static_cast<double>(vocabulary)) {
      refuse(field, fmt::format("a list that contains {}", shown(id)),
             fmt::format("token ids from 0 to {}", vocabulary - 1));
    }
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

// "text", ["text", ...], [ids] or [[ids], ...]: calls text() or ids() for each.
template <typename Text, typename Ids>
void each_input(const std::string& field, const Json& input, size_t most, const Text& text,
                const Ids& ids) {
  if (input.is_string()) {
    text(input.get<std::string>());
    return;
  }
  if (!input.is_array() || input.empty()) {
    refuse(field, shown(input), "a string, a list of strings, or token ids");
  }
  if (input.front().is_number()) {
    ids(input);
    return;
  }
  if (input.size() > most) {
    refuse(field, shown(input), fmt::format("at most {} items", most));
  }
  for (const Json& each : input) {
    if (each.is_string()) {
      text(each.get<std::string>());
    } else if (each.is_array() && !each.empty()) {
      ids(each);
    } else {
      refuse(field, fmt::format("a list that contains {}", shown(each)),
             "strings or lists of token ids");
    }
  }
}

// A request for completions while it is answered.
struct Completions {
  const ServedModel* model = nullptr;
  const LoadedLanguageModel* language = nullptr;  // the model itself
  std::string id;
  int64_t created = 0;
  bool stream = false;
  bool usage_at_end = false;
  std::optional<int64_t> log_probabilities;
  int64_t max_tokens = 16;
  std::shared_ptr<Reply> reply = std::make_shared<Reply>();
  std::vector<std::shared_ptr<Job>> jobs;

  struct Choice {
    // The prompt, until it is sent: its text, and its first token, which has no log-probability.
    std::string echo;
    std::optional<int32_t> first;
    std::optional<int32_t> last;  // the token before the next one, if it is told
    std::string text;
    Json log_probabilities = nullptr;
    std::string reason;
    int64_t offset = 0;  // characters so far
  };
  std::vector<Choice> choices;
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;

  const Tokenizer& tokenizer() const { return *language->tokenizers.target; }
};

int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

std::vector<std::vector<int32_t>> read_prompts(JsonRequest& fields,
                                               const LoadedLanguageModel& model) {
  const Tokenizer& tokenizer = *model.tokenizers.target;
  const int64_t context = model.model->context();
  const int64_t most = context > 0 ? context : kLongestPrompt;
  std::vector<std::vector<int32_t>> prompts;
  static const Json kNothing = "";
  const Json& given = fields.raw("prompt");
  const auto add = [&](std::vector<int32_t> ids) {
    if (ids.empty()) {
      refuse("prompt", "empty", "at least one token, because the model has no start token");
    }
    if (std::ssize(ids) > most) {
      throw HttpError(400,
                      fmt::format("prompt has {} tokens, expected at most {}", ids.size(), most),
                      "prompt", "context_length_exceeded");
    }
    prompts.push_back(std::move(ids));
  };
  each_input(
      "prompt", given.is_null() ? kNothing : given, kMostPrompts,
      [&](const std::string& text) {
        check_length("prompt", text, kMostTextBytes);
        add(encode_prompt(tokenizer, text));
      },
      [&](const Json& ids) { add(ids_of("prompt", ids, tokenizer.size())); });
  return prompts;
}

bool read_include_usage(const Json& stream_options) {
  if (stream_options.is_null()) {
    return false;
  }
  const Json wanted =
      stream_options.is_object() ? stream_options.value("include_usage", Json(false)) : Json();
  if (!wanted.is_boolean()) {
    refuse("stream_options", shown(stream_options),
           "an object in which include_usage is true or false");
  }
  return wanted.get<bool>();
}

Completions read_completions(const std::string& body, const Hub& hub) {
  JsonRequest fields(body);
  Completions wanted;
  wanted.model = &hub.find(fields.text("model", ""), "complete");
  wanted.language = &wanted.model->served_by<CompletionService>().model();
  wanted.created = seconds_now();
  wanted.id = "cmpl-" + new_id();
  const std::vector<std::vector<int32_t>> prompts = read_prompts(fields, *wanted.language);
  wanted.max_tokens = fields.integer("max_tokens", 16, {0, kMostOutput});
  TextRequest request;
  request.options.max_tokens = wanted.max_tokens;
  request.options.sampling = read_sampling(fields, {});
  request.options.stop = fields.texts("stop", kMostStops);
  for (const std::string& stop : request.options.stop) {
    if (stop.empty()) {
      refuse("stop", "an empty string", "strings of at least one character");
    }
  }
  request.options.seed = read_seed(fields);
  wanted.log_probabilities = fields.integer_if("logprobs", {0, kMostLogProbabilities});
  request.log_probabilities = wanted.log_probabilities;
  const int64_t n = fields.integer("n", 1, {1, kMostChoices});
  wanted.stream = fields.flag("stream", false);
  const bool echo = fields.flag("echo", false);
  if (echo && wanted.log_probabilities && wanted.max_tokens == 0) {
    refuse("max_tokens", "0", "at least 1 with echo and logprobs");
  }
  wanted.usage_at_end = read_include_usage(fields.raw("stream_options"));
  fields.only("best_of", n);
  fields.only("presence_penalty", 0);
  fields.only("frequency_penalty", 0);
  fields.only("suffix", "");
  fields.ignore({"user"});
  fields.only("logit_bias", Json::object());
  fields.finish();
  const size_t most = wanted.model->engine->capacity();
  if (prompts.size() * static_cast<size_t>(n) > most) {
    refuse("n", fmt::format("{} for {} prompts", n, prompts.size()),
           fmt::format("at most {} completions in total", most));
  }
  for (const std::vector<int32_t>& prompt : prompts) {
    wanted.tokens_in += std::ssize(prompt);
    for (int64_t i = 0; i < n; ++i) {
      request.prompt = prompt;
      request.sample = static_cast<uint64_t>(i);
      const auto job =
          std::make_shared<CompletionJob>(wanted.reply, wanted.choices.size(), request);
      Completions::Choice& choice = wanted.choices.emplace_back();
      if (echo) {
        job->log_probabilities_of_prompt = wanted.log_probabilities.has_value();
        choice.echo = wanted.tokenizer().decode(prompt);
        choice.first = prompt.front();
      } else {
        choice.last = prompt.back();
      }
      wanted.jobs.push_back(job);
    }
  }
  return wanted;
}

// What a token adds to a text: the space before a word is not lost, as it is at a text's beginning.
std::string text_after(const Tokenizer& tokenizer, std::optional<int32_t> before, int32_t id) {
  if (before) {
    const std::string alone = tokenizer.decode(std::array{*before});
    const std::string both = tokenizer.decode(std::array{*before, id});
    if (both.starts_with(alone)) {
      return both.substr(alone.size());
    }
  }
  return tokenizer.decode(std::array{id});
}

// OpenAI's form of the probabilities of tokens that were drawn after the choice's last.
Json log_probabilities_of(const Completions& wanted, Completions::Choice& choice,
                          const std::vector<DrawnToken>& drawn) {
  Json tokens = Json::array();
  Json own = Json::array();
  Json likeliest = Json::array();
  Json offsets = Json::array();
  int64_t offset = choice.offset;
  const auto text_of = [&](int32_t id) { return text_after(wanted.tokenizer(), choice.last, id); };
  for (const DrawnToken& token : drawn) {
    const std::string text = text_of(token.id);
    tokens.push_back(text);
    own.push_back(token.log_probability);
    offsets.push_back(offset);
    offset += characters(text);
    Json others = Json::object();
    for (const TokenLogProbability& one : token.likeliest) {
      others[text_of(one.id)] = one.log_probability;
    }
    likeliest.push_back(others);
    choice.last = token.id;
  }
  return {{"tokens", tokens},
          {"token_logprobs", own},
          {"top_logprobs", *wanted.log_probabilities > 0 ? likeliest : Json(nullptr)},
          {"text_offset", offsets}};
}

const char* reason_of(GenerateEnd end) { return end == GenerateEnd::length ? "length" : "stop"; }

Json frame(const Completions& wanted, const Json& choices) {
  return {{"id", wanted.id},
          {"object", "text_completion"},
          {"created", wanted.created},
          {"model", wanted.model->name},
          {"choices", choices}};
}

Json usage_of(const Completions& wanted) {
  return {{"prompt_tokens", wanted.tokens_in},
          {"completion_tokens", wanted.tokens_out},
          {"total_tokens", wanted.tokens_in + wanted.tokens_out}};
}

// The probabilities of a piece's tokens, which the choice gets too.
Json add_log_probabilities(const Completions& wanted, Completions::Choice& choice,
                           const TextPiece& piece) {
  std::vector<DrawnToken> tokens = piece.tokens;
  const bool begins = choice.first.has_value();
  if (begins) {
    tokens.insert(tokens.begin(), DrawnToken{.id = *std::exchange(choice.first, {})});
  }
  Json log_probabilities = log_probabilities_of(wanted, choice, tokens);
  if (begins) {
    log_probabilities["token_logprobs"][0] = nullptr;
    if (log_probabilities["top_logprobs"].is_array()) {
      log_probabilities["top_logprobs"][0] = nullptr;
    }
  }
  for (const Json& token : log_probabilities["tokens"]) {
    choice.offset += characters(token.get_ref<const std::string&>());
  }
  if (choice.log_probabilities.is_null()) {
    choice.log_probabilities = log_probabilities;
  } else {
    for (const char* part : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
      for (const Json& each : log_probabilities[part]) {
        choice.log_probabilities[part].push_back(each);
      }
    }
  }
  return log_probabilities;
}

// What an event adds to a choice, as a chunk of a stream; null for nothing.
Json take_event(Completions& wanted, const Event& event) {
  Completions::Choice& choice = wanted.choices[event.job];
  Json chunk{{"index", event.job}, {"text", ""}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
  const TextPiece* piece = std::get_if<TextPiece>(&event.what);
  const Done* done = std::get_if<Done>(&event.what);
  if (piece == nullptr && done == nullptr) {
    return nullptr;
  }
  const std::string text =
      std::exchange(choice.echo, "") + (piece != nullptr ? piece->text : std::string());
  choice.text += text;
  chunk["text"] = text;
  if (piece != nullptr && wanted.log_probabilities) {
    chunk["logprobs"] = add_log_probabilities(wanted, choice, *piece);
  }
  if (done != nullptr) {
    choice.reason = reason_of(done->end);
    chunk["finish_reason"] = choice.reason;
    wanted.tokens_out += done->tokens_out;
  }
  return frame(wanted, Json::array({chunk}));
}

Json whole_answer(const Completions& wanted) {
  Json choices = Json::array();
  for (size_t i = 0; i < wanted.choices.size(); ++i) {
    const Completions::Choice& choice = wanted.choices[i];
    choices.push_back({{"index", i},
                       {"text", choice.text},
                       {"logprobs", choice.log_probabilities},
                       {"finish_reason", choice.reason}});
  }
  Json answer = frame(wanted, choices);
  answer["usage"] = usage_of(wanted);
  return answer;
}

// The answer without any new token: the prompts, if they are to be repeated.
void answer_nothing(Completions& wanted) {
  for (size_t i = 0; i < wanted.choices.size(); ++i) {
    wanted.reply->push({i, Done{.end = GenerateEnd::length}});
  }
}

HttpResponse complete(const HttpRequest& request, const Hub& hub) {
  auto wanted = std::make_shared<Completions>(read_completions(request.body, hub));
  if (wanted->max_tokens > 0) {
    submit(request, *wanted->model, wanted->jobs);
  } else {
    request.notes.model = wanted->model->name;
    answer_nothing(*wanted);
  }
  const size_t jobs = wanted->jobs.size();
  if (!wanted->stream) {
    follow(request, *wanted->reply, jobs, [&](const Event& event) {
      take_event(*wanted, event);
      return true;
    });
    return json_response(whole_answer(*wanted));
  }
  return stream_events(request,
                       {.reply = wanted->reply,
                        .jobs = jobs,
                        .told = [wanted](const Event& event) { return take_event(*wanted, event); },
                        .last =
                            [wanted] {
                              std::vector<std::string> events;
                              if (wanted->usage_at_end) {
                                Json last = frame(*wanted, Json::array());
                                last["usage"] = usage_of(*wanted);
                                events.push_back(as_event(last));
                              }
                              events.emplace_back("data: [DONE]\n\n");
                              return events;
                            }});
}

Json vector_as(const std::vector<float>& vector, bool base64_wanted) {
  return base64_wanted ? Json(floats_in_base64(vector)) : Json(vector);
}

HttpResponse embed(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = hub.find(fields.text("model", ""), "embed");
  const LoadedEncoder& encoder = model.served_by<EncodeService>().model();
  const Tokenizer& tokenizer = *encoder.tokenizers.source;
  const int64_t longest = encoder.model->longest();
  std::vector<EncodedText> texts;
  int64_t tokens = 0;
  each_input(
      "input", fields.raw("input"), kMostInputs,
      [&](const std::string& text) {
        check_length("input", text, kMostTextBytes);
        texts.push_back(encode_text(tokenizer, text, longest));
      },
      [&](const Json& ids) {
        texts.push_back(
            join_texts(tokenizer, ids_of("input", ids, tokenizer.size()), std::nullopt, longest));
      });
  for (const EncodedText& text : texts) {
    tokens += std::ssize(text.tokens);
  }
  const std::string format = fields.text("encoding_format", "float");
  if (format != "float" && format != "base64") {
    refuse("encoding_format", shown(Json(format)), "float or base64");
  }
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<EncodeJob>(reply, EncodeTask::embed, std::move(texts));
  job->pooling = read_pooling(fields);
  job->normalize = fields.flag("normalize", true);
  fields.only("dimensions", encoder.model->width());
  fields.ignore({"user"});
  fields.finish();
  submit(request, model, job);
  follow(request, *reply, 1);
  Json data = Json::array();
  for (size_t i = 0; i < job->vectors.size(); ++i) {
    data.push_back({{"object", "embedding"},
                    {"index", i},
                    {"embedding", vector_as(job->vectors[i], format == "base64")}});
  }
  return json_response({{"object", "list"},
                        {"data", data},
                        {"model", model.name},
                        {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

HttpResponse list_models(const Hub& hub) {
  Json data = Json::array();
  for (const auto& model : hub.models()) {
    data.push_back(describe(*model));
  }
  return json_response({{"object", "list"}, {"data", data}});
}

HttpResponse one_model(const HttpRequest& request, const Hub& hub) {
  for (const auto& model : hub.models()) {
    if (model->name == request.path_parts.front()) {
      return json_response(describe(*model));
    }
  }
  throw HttpError(
      404, fmt::format("there is no model named {}", shown(Json(request.path_parts.front()))),
      "model", "model_not_found");
}

}  // namespace

void add_openai_routes(HttpServer& server, Hub& hub) {
  server.route("GET", "/v1/models", [&hub](const HttpRequest&) { return list_models(hub); });
  server.route("GET", "/v1/models/{}",
               [&hub](const HttpRequest& request) { return one_model(request, hub); });
  server.route("POST", "/v1/completions",
               [&hub](const HttpRequest& request) { return complete(request, hub); });
  server.route("POST", "/v1/embeddings",
               [&hub](const HttpRequest& request) { return embed(request, hub); });
}

}  // namespace heed::serve
