#include "formats/sound.h"

#include <dlfcn.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "music/note_events.h"

namespace heed {
namespace {

constexpr const char* kDebianSoundfont = "/usr/share/sounds/sf2/TimGM6mb.sf2";

constexpr const char* kFluidLibrary = "libfluidsynth.so.3";  // of FluidSynth 2.2 and later
constexpr int kBlock = 64;                                   // frames: the synthesizer's own grain
constexpr double kGain = 1.0;  // dense fortissimo reaches half of full scale
constexpr int kChannelsOut = 2;

// The functions of the library that are used, under their names. They are declared here because
// FluidSynth's headers come with the development files of a whole desktop; the version in the
// library's name stands for their types.
struct Fluid {
  struct Settings;
  struct Synth;
  using Log = void (*)(int level, const char* message, void* data);
  static constexpr int kOk = 0;
  static constexpr int kFailed = -1;
  static constexpr int kLogLevels = 5;

  void* library = nullptr;
  Log (*set_log_function)(int level, Log function, void* data) = nullptr;
  Settings* (*new_settings)() = nullptr;
  void (*delete_settings)(Settings*) = nullptr;
  int (*set_number)(Settings*, const char* name, double value) = nullptr;
  int (*set_integer)(Settings*, const char* name, int value) = nullptr;
  Synth* (*new_synth)(Settings*) = nullptr;
  void (*delete_synth)(Synth*) = nullptr;
  int (*load_soundfont)(Synth*, const char* file, int reset_presets) = nullptr;
  int (*note_on)(Synth*, int channel, int key, int velocity) = nullptr;
  int (*note_off)(Synth*, int channel, int key) = nullptr;
  int (*write)(Synth*, int frames, void* left, int left_offset, int left_step, void* right,
               int right_offset, int right_step) = nullptr;

  Fluid() : library(::dlopen(kFluidLibrary, RTLD_NOW | RTLD_LOCAL)) {
    if (library == nullptr) {
      return;
    }
    find(set_log_function, "fluid_set_log_function");
    find(new_settings, "new_fluid_settings");
    find(delete_settings, "delete_fluid_settings");
    find(set_number, "fluid_settings_setnum");
    find(set_integer, "fluid_settings_setint");
    find(new_synth, "new_fluid_synth");
    find(delete_synth, "delete_fluid_synth");
    find(load_soundfont, "fluid_synth_sfload");
    find(note_on, "fluid_synth_noteon");
    find(note_off, "fluid_synth_noteoff");
    find(write, "fluid_synth_write_s16");
    // It would complain on standard error about audio drivers, which are not used.
    for (int level = 0; level < kLogLevels; ++level) {
      set_log_function(level, nullptr, nullptr);
    }
  }

 private:
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    check(function != nullptr, "[sound] {} has no {}", kFluidLibrary, name);
  }
};

const Fluid& fluid() {
  static const Fluid loaded;  // stays until the program ends
  return loaded;
}

// FluidSynth passes a file that is not a soundfont to other libraries, which complain on standard
// error.
bool is_soundfont(const std::filesystem::path& path) {
  constexpr size_t kTypeAt = 8;
  std::string head(kTypeAt + 4, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), std::ssize(head));
  return file && head.starts_with("RIFF") && head.substr(kTypeAt) == "sfbk";
}

class Synthesizer {
 public:
  explicit Synthesizer(const std::filesystem::path& soundfont)
      : settings_(fluid().new_settings(), fluid().delete_settings),
        synth_(nullptr, fluid().delete_synth) {
    check(settings_ != nullptr, "[sound] FluidSynth gives no settings");
    fluid().set_number(settings_.get(), "synth.sample-rate", kSoundRate);
    fluid().set_number(settings_.get(), "synth.gain", kGain);
    fluid().set_integer(settings_.get(), "synth.chorus.active", 0);  // no piano has one
    synth_.reset(fluid().new_synth(settings_.get()));
    check(synth_ != nullptr, "[sound] FluidSynth gives no synthesizer");
    check(is_soundfont(soundfont) &&
              fluid().load_soundfont(synth_.get(), soundfont.c_str(), 1) != Fluid::kFailed,
          "[sound] {} cannot be used as a soundfont", soundfont.string());
  }

  void play(const NoteEvent& event) {
    // note_off() fails for a drum that is silent already, which does no harm.
    if (event.on) {
      fluid().note_on(synth_.get(), event.channel, event.pitch, event.velocity);
    } else {
      fluid().note_off(synth_.get(), event.channel, event.pitch);
    }
  }

  void render(int64_t blocks, std::vector<int16_t>& samples) {
    const size_t before = samples.size();
    const auto frames = static_cast<int>(blocks * kBlock);  // an hour is far from the largest
    samples.resize(before + static_cast<size_t>(frames) * kChannelsOut);
    int16_t* left = samples.data() + before;
    check(fluid().write(synth_.get(), frames, left, 0, kChannelsOut, left, 1, kChannelsOut) ==
              Fluid::kOk,
          "[sound] FluidSynth does not render");
  }

 private:
  std::unique_ptr<Fluid::Settings, void (*)(Fluid::Settings*)> settings_;
  std::unique_ptr<Fluid::Synth, void (*)(Fluid::Synth*)> synth_;
};

std::vector<int16_t> render(std::span<const Note> notes) {
  constexpr double kBlocksPerSecond = static_cast<double>(kSoundRate) / kBlock;
  Synthesizer synthesizer(soundfont_path());
  std::vector<int16_t> samples;
  int64_t now = 0;
  for (const NoteEvent& event : note_events(notes, kBlocksPerSecond)) {
    check(static_cast<double>(event.step) <= kLongestSound * kBlocksPerSecond,
          "[sound] a piece of {:.0f} s, expected at most {:.0f}",
          static_cast<double>(event.step) / kBlocksPerSecond, kLongestSound);
    if (event.step > now) {
      synthesizer.render(event.step - now, samples);
      now = event.step;
    }
    synthesizer.play(event);
  }
  synthesizer.render(static_cast<int64_t>(kRingOut * kBlocksPerSecond) + 1, samples);
  return samples;
}

// The header of uncompressed samples, 44 bytes.
std::string wav_header(size_t bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::string header;
  const auto text = [&](const char* name) { header += name; };
  const auto number = [&](auto value) {
    header.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  constexpr size_t kAfterSize = 36;
  constexpr int kFrameBytes = kChannelsOut * static_cast<int>(sizeof(int16_t));
  text("RIFF");
  number(static_cast<uint32_t>(bytes + kAfterSize));
  text("WAVEfmt ");
  number(uint32_t{16});  // bytes of the format
  number(uint16_t{1});   // integers
  number(static_cast<uint16_t>(kChannelsOut));
  number(static_cast<uint32_t>(kSoundRate));
  number(static_cast<uint32_t>(kSoundRate * kFrameBytes));
  number(static_cast<uint16_t>(kFrameBytes));
  number(uint16_t{16});  // bits of a sample
  text("data");
  number(static_cast<uint32_t>(bytes));
  return header;
}

}  // namespace

std::filesystem::path soundfont_path() {
  const char* given = std::getenv("HEED_SOUNDFONT");
  return given != nullptr && *given != '\0' ? given : kDebianSoundfont;
}

std::string why_no_sound() {
  if (fluid().library == nullptr) {
    return fmt::format("[sound] {} cannot be loaded; install FluidSynth (Debian: libfluidsynth3)",
                       kFluidLibrary);
  }
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(soundfont_path(), unknown)) {
    return fmt::format(
        "[sound] there is no soundfont {}; install one (Debian: timgm6mb-soundfont) or name one in "
        "HEED_SOUNDFONT",
        soundfont_path().string());
  }
  return "";
}

std::string encode_wav(std::span<const Note> notes) {
  const std::string missing = why_no_sound();
  check(missing.empty(), "{}", missing);
  const std::vector<int16_t> samples = render(notes);
  const std::string_view bytes(reinterpret_cast<const char*>(samples.data()),
                               samples.size() * sizeof(int16_t));
  return wav_header(bytes.size()).append(bytes);
}

void write_wav(const std::filesystem::path& path, std::span<const Note> notes) {
  write_file(path, encode_wav(notes));
}

}  // namespace heed
