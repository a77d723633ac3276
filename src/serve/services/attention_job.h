// A look at what a text model looks at; every text service does it.
#pragma once

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

}  // namespace heed::serve
