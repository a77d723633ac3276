// GPT-2 and BERT as Hugging Face's folders have them: their config.json, and how they call and lay
// out what Heed calls by the papers' words.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "formats/tensor_files.h"

namespace heed {

// What a parameter is made of in a file: parts stacked along the rows, each perhaps transposed
// ([in,out] instead of [out,in], as GPT-2 has them).
struct StoredPart {
  std::string name;
  bool transposed = false;
};

// Ways in which files of one kind differ.
struct NameStyle {
  bool prefix = true;       // names begin with "transformer." or "bert."
  bool gamma_beta = false;  // instead of a norm's weight and bias: the first BERTs
};
NameStyle style_of(std::string_view kind, const TensorFiles& files);

class StoredNames {
 public:
  // The names of a model kind; kinds that Hugging Face does not know keep Heed's own names.
  explicit StoredNames(std::string_view kind, const NameStyle& style = {});

  std::vector<StoredPart> parts(std::string_view parameter) const;
  // Tensors that carry nothing: masks, copies of tied matrices.
  bool ignored(std::string_view tensor) const;
  // Belongs to a head, which another task does without.
  bool head(std::string_view tensor) const;

 private:
  std::string kind_;
  NameStyle style_;
};

bool is_huggingface(const Json& config);  // says "model_type"
// Heed's configuration of the model. Heads are there if `has` says so of their tensors. What Heed
// does not do is an Error that names the key.
Json from_huggingface(const Json& config, const std::function<bool(std::string_view)>& has,
                      const std::string& where);
// Theirs, from a resolved configuration; empty for kinds they do not know.
Json to_huggingface(const Json& model);

}  // namespace heed
