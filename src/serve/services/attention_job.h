// A look at what a text model looks at; services that do it say how requests are read and answered.
#pragma once

#include <string>
#include <utility>

#include "decode/text/text_attention.h"
#include "serve/services/list_service.h"

namespace heed::serve {

class AttentionJob : public ListJob {
 public:
  AttentionJob(std::shared_ptr<Reply> reply, TextAttentionRequest wanted)
      : ListJob(std::move(reply)), request(std::move(wanted)) {}

  size_t size() const override { return 1; }
  int64_t cost(size_t /*index*/) const override { return std::ssize(request.text); }

  void check_with(const LoadedFolder& model) const { check_text_attention(model, request); }
  void look_at(const LoadedFolder& model) {
    found = attention_of_text(model, request);
    tokens_in += std::ssize(found.source.empty() ? found.target : found.source);
  }

  TextAttentionRequest request;
  TextAttention found;
};

class AttendsToText {
 public:
  virtual ~AttendsToText() = default;
  AttendsToText() = default;
  AttendsToText(const AttendsToText&) = delete;
  AttendsToText& operator=(const AttendsToText&) = delete;

  // The field that has the second text; "": there is none.
  virtual std::string second_field() const = 0;
  // Then answers also tell the source's tokens and the translation.
  virtual bool translates() const { return false; }
};

}  // namespace heed::serve
