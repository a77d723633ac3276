// Trained Transformers of CTranslate2 (and OpenNMT behind it) as Heed's model folders.
#pragma once

#include <cstdint>
#include <filesystem>

#include "models/folder_output.h"
#include "tensor/dtype.h"

namespace heed {

struct Ctranslate2Import {
  std::filesystem::path input;  // a folder with model.bin or model.safetensors, or such a file
  std::filesystem::path
      vocabulary;                // folder of the *_vocabulary.txt; empty: the input's or its parent
  std::filesystem::path output;  // the new model folder
  int64_t heads = 0;             // 0: as the model's specification says, 8 or 16
  DType dtype = DType::f32;      // of the new weights
  Existing existing = Existing::refuse;  // model at the output
};

void import_ctranslate2(const Ctranslate2Import& import);

}  // namespace heed
