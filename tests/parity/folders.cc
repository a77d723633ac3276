#include "parity/folders.h"

#include <vector>

#include "heed.h"
#include "models/folder.h"
#include "models/language/bert.h"
#include "parity/dump.h"

namespace heed::parity {
namespace {

constexpr uint64_t kSeed = 11;

Tensor random_ids(uint64_t stream, const Shape& shape, int32_t below) {
  const RandomStream random{kSeed, stream};
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < shape.size(); ++i) {
    ids.push_back(
        static_cast<int32_t>(random.bits(static_cast<uint64_t>(i)) % static_cast<uint64_t>(below)));
  }
  return Tensor::from_ints(ids, shape);
}

// Random weights, gains and biases included, written and read again.
struct Written {
  Written(const std::string& folder, const Json& fields) {
    config.model = resolve_model_config(fields, "parity");
    {
      ParameterStore first;
      const auto model = make_model(first.root(), config.model);
      first.allocate(DType::f32, kSeed);
      uint64_t stream = 100;
      for (ParameterEntry& entry : first.entries()) {
        const RandomStream random{kSeed, stream++};
        for (int64_t i = 0; entry.shape.rank() == 1 && i < entry.shape.size(); ++i) {
          entry.value.data<float>()[i] += 0.2F * random.normal(static_cast<uint64_t>(i));
        }
      }
      save_config(folder, config);
      save_parameters(folder + "/model.safetensors", first, config.model);
    }
    any = make_model(store.root(), config.model);
    store.allocate(DType::f32, kSeed);
    load_parameters(folder, store, config.model);
  }

  FolderConfig config;
  ParameterStore store;
  std::unique_ptr<Model> any;
};

void dump_gpt2(const std::string& folder) {
  Dump dump(folder);
  dump.set("model", "gpt2");
  const Written written(folder, {{"kind", "gpt2"},
                                 {"vocabulary", 211},
                                 {"context", 64},
                                 {"width", 96},
                                 {"heads", 6},
                                 {"layers", 3},
                                 {"initializer_range", 0.1}});
  const Tensor tokens = random_ids(1, {3, 50}, 211);
  dump.add("tokens", tokens);
  dump.add("logits", model_as<LanguageModel>(*written.any, written.config.model).logits(tokens));
  dump.finish();
}

void dump_bert(const std::string& folder) {
  Dump dump(folder);
  dump.set("model", "bert");
  const Written written(folder, {{"kind", "bert"},
                                 {"vocabulary", 211},
                                 {"longest", 64},
                                 {"width", 96},
                                 {"heads", 6},
                                 {"hidden", 200},
                                 {"layers", 3},
                                 {"initializer_range", 0.1},
                                 {"masked_head", true},
                                 {"next_head", true}});
  const TextBatch batch{.tokens = random_ids(1, {3, 40}, 211),
                        .types = random_ids(2, {3, 40}, 2),
                        .lengths = Tensor::from_ints(std::vector<int32_t>{40, 23, 9}, {3})};
  const auto& encoder = model_as<TextEncoder>(*written.any, written.config.model);
  const auto& heads = dynamic_cast<const MaskedModel&>(*written.any);
  const Tensor hidden = encoder.hidden(batch);
  std::vector<int32_t> places;  // those that are no padding
  for (int32_t row = 0; row < 3; ++row) {
    for (int32_t t = 0; t < batch.lengths.data<int32_t>()[row]; ++t) {
      places.push_back(row * 40 + t);
    }
  }
  const Tensor where = Tensor::from_ints(places, {std::ssize(places)});
  dump.add("tokens", batch.tokens);
  dump.add("types", batch.types);
  dump.add("lengths", batch.lengths);
  dump.add("places", where);
  dump.add("words", heads.words(hidden, where));
  dump.add("follows", heads.follows(hidden, batch));
  dump.finish();
}

}  // namespace

void dump_folders(const std::string& folder) {
  dump_gpt2(folder + "/gpt2");
  dump_bert(folder + "/bert");
}

}  // namespace heed::parity
