// What a model is, told by its configuration: before it is built, and without reading its fields by
// their keys.
//
// A model's file pair has, beside the configuration,
//   ModelSpec spec_of(const GptConfig& config);
// and an overload of adapt() for each of the structs below that it can follow, such as
//   void adapt(GptConfig& config, const VocabularySizes& sizes);
// models/registry.h finds them by the kind in a configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heed {

enum class ModelInterface { translation, language, encoder, image, answering };

struct ModelSpec {
  // The registry fills in these two.
  std::string kind = {};
  ModelInterface interface = ModelInterface::translation;

  int64_t width = 0;              // of the vectors that pass through all layers; 0: there is no one
  int64_t source_vocabulary = 0;  // tokens that it reads; 0: none, or not known yet
  int64_t target_vocabulary = 0;  // tokens that it says; of encoders, the same as it reads
  int64_t longest = 0;            // most tokens of a sequence; 0: any number
  int64_t classes = 0;            // that it tells apart, or that images are drawn by; 0: none
  bool masked_head = false;       // says the words behind masks
  bool attention = false;         // has attention weights to look at
  bool from_start = false;        // counts positions from START: sequences may not be cropped

  bool has_tokenizer() const { return interface != ModelInterface::image; }
};

// The sizes of the tokenizers that a model is trained with.
struct VocabularySizes {
  static constexpr const char* kMissing = "reads no tokens";

  int64_t source = 0;
  int64_t target = 0;
  bool joint = true;  // source and target share an embedding
};

// The heads of a text encoder that a task needs; those not named are left out.
struct EncoderHeads {
  static constexpr const char* kMissing = "is not a text encoder";

  int64_t classes = 0;
  bool masked = false;
  bool next = false;                // says whether the second text follows
  std::optional<bool> pooler = {};  // none: as the configuration has it
};

// The sizes of the images that a model is trained with. A configuration that says otherwise is an
// Error; 0 in it leaves the size to the data.
struct ImageSizes {
  static constexpr const char* kMissing = "is not an image model";

  int64_t rows = 0;
  int64_t columns = 0;
  int64_t channels = 0;
  int64_t levels = 0;
  int64_t classes = 0;      // 0: as the configuration has them
  int64_t source_rows = 0;  // of the small images that it enlarges; 0: it is not asked to
  int64_t source_columns = 0;
};

}  // namespace heed
