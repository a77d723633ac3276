#include "formats/sound.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "music/note_events.h"

#ifdef HEED_FLUIDSYNTH
#include <dlfcn.h>
#include <fluidsynth.h>

#include <fstream>
#include <memory>
#endif

namespace heed {
namespace {

constexpr const char* kDebianSoundfont = "/usr/share/sounds/sf2/TimGM6mb.sf2";

#ifdef HEED_FLUIDSYNTH

constexpr int kFluidMajor = 2;
static_assert(FLUIDSYNTH_VERSION_MAJOR == kFluidMajor, "kFluidLibrary is of another version");
constexpr const char* kFluidLibrary = "libfluidsynth.so.3";  // of FluidSynth 2.2 and later
constexpr int kBlock = 64;                                   // frames: the synthesizer's own grain
constexpr double kGain = 1.0;  // dense fortissimo reaches half of full scale
constexpr int kChannelsOut = 2;

// The functions of the library that are used, under their names.
struct Fluid {
  void* library = nullptr;
  decltype(&::fluid_set_log_function) set_log_function = nullptr;
  decltype(&::new_fluid_settings) new_settings = nullptr;
  decltype(&::delete_fluid_settings) delete_settings = nullptr;
  decltype(&::fluid_settings_setnum) set_number = nullptr;
  decltype(&::fluid_settings_setint) set_integer = nullptr;
  decltype(&::new_fluid_synth) new_synth = nullptr;
  decltype(&::delete_fluid_synth) delete_synth = nullptr;
  decltype(&::fluid_synth_sfload) load_soundfont = nullptr;
  decltype(&::fluid_synth_noteon) note_on = nullptr;
  decltype(&::fluid_synth_noteoff) note_off = nullptr;
  decltype(&::fluid_synth_write_s16) write = nullptr;

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
    for (int level = FLUID_PANIC; level <= FLUID_DBG; ++level) {
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
              fluid().load_soundfont(synth_.get(), soundfont.c_str(), 1) != FLUID_FAILED,
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
              FLUID_OK,
          "[sound] FluidSynth does not render");
  }

 private:
  std::unique_ptr<fluid_settings_t, decltype(&::delete_fluid_settings)> settings_;
  std::unique_ptr<fluid_synth_t, decltype(&::delete_fluid_synth)> synth_;
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

#endif

}  // namespace

std::filesystem::path soundfont_path() {
  const char* given = std::getenv("HEED_SOUNDFONT");
  return given != nullptr && *given != '\0' ? given : kDebianSoundfont;
}

std::string why_no_sound() {
#ifdef HEED_FLUIDSYNTH
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
#else
  return "[sound] this program was built without FluidSynth; install its development files "
         "(Debian: libfluidsynth-dev, timgm6mb-soundfont) and build again";
#endif
}

std::string encode_wav(std::span<const Note> notes) {
  const std::string missing = why_no_sound();
  check(missing.empty(), "{}", missing);
#ifdef HEED_FLUIDSYNTH
  const std::vector<int16_t> samples = render(notes);
  const std::string_view bytes(reinterpret_cast<const char*>(samples.data()),
                               samples.size() * sizeof(int16_t));
  return wav_header(bytes.size()).append(bytes);
#else
  static_cast<void>(notes);
  return {};
#endif
}

void write_wav(const std::filesystem::path& path, std::span<const Note> notes) {
  write_file(path, encode_wav(notes));
}

}  // namespace heed
