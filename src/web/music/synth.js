// A small piano-like voice on WebAudio, and a player that schedules notes shortly before they sound.

const kAhead = 0.4,
  kTick = 100; // seconds scheduled ahead; milliseconds between looks
const kDrums = 9;

const frequencyOf = (pitch) => 440 * 2 ** ((pitch - 69) / 12);

// A room: noise that dies away.
function roomOf(context) {
  const seconds = 1.6,
    size = Math.floor(seconds * context.sampleRate);
  const buffer = context.createBuffer(2, size, context.sampleRate);
  for (let side = 0; side < 2; ++side) {
    const samples = buffer.getChannelData(side);
    for (let i = 0; i < size; ++i) samples[i] = (Math.random() * 2 - 1) * (1 - i / size) ** 3;
  }
  return new ConvolverNode(context, { buffer });
}

export class Synth {
  constructor() {
    this.voices = new Set();
  }

  // Browsers let sound begin only when somebody asked for it.
  async wake() {
    if (!this.context) {
      this.context = new AudioContext();
      const master = new DynamicsCompressorNode(this.context, { threshold: -18, ratio: 4 });
      this.input = new GainNode(this.context, { gain: 0.32 });
      const wet = new GainNode(this.context, { gain: 0.16 });
      this.input.connect(master).connect(this.context.destination);
      this.input.connect(roomOf(this.context)).connect(wet).connect(master);
    }
    await this.context.resume();
  }

  get now() {
    return this.context?.currentTime ?? 0;
  }

  // Struck, then fading: a triangle with an octave above it, and a filter that closes as a string calms.
  sound({ pitch, velocity, channel = 0 }, at, seconds) {
    if (channel === kDrums) return; // drums on a piano would only be noise
    const { context } = this;
    const loud = 0.15 + 0.85 * (velocity / 127) ** 1.5;
    const end = at + Math.max(0.06, seconds),
      quiet = end + 0.25;
    const frequency = frequencyOf(pitch);
    const volume = new GainNode(context, { gain: 0 });
    volume.gain.setValueAtTime(0, at);
    volume.gain.linearRampToValueAtTime(loud, at + 0.006);
    volume.gain.setTargetAtTime(loud * 0.25, at + 0.006, 0.5);
    volume.gain.setTargetAtTime(0, end, 0.06);
    const filter = new BiquadFilterNode(context, { type: "lowpass", Q: 0.4 });
    filter.frequency.setValueAtTime(Math.min(12_000, frequency * (3 + 7 * loud)), at);
    filter.frequency.setTargetAtTime(Math.min(6_000, frequency * 2.2), at, 0.3);
    const tones = [
      ["triangle", 1, 1],
      ["sine", 2, 0.28],
      ["sine", 3.003, 0.08],
    ]
      .filter(([, times]) => frequency * times < context.sampleRate / 2) // nothing higher can sound
      .map(([type, times, share]) => {
        const tone = new OscillatorNode(context, { type, frequency: frequency * times });
        tone.connect(new GainNode(context, { gain: share })).connect(volume);
        tone.start(at);
        tone.stop(quiet);
        return tone;
      });
    volume.connect(filter).connect(this.input);
    const voice = { volume, tones };
    this.voices.add(voice);
    tones[0].onended = () => {
      this.voices.delete(voice);
      filter.disconnect();
    };
  }

  async touch(pitch) {
    await this.wake();
    this.sound({ pitch, velocity: 84 }, this.now, 0.25);
  }

  silence() {
    for (const { volume, tones } of this.voices) {
      volume.gain.cancelScheduledValues(this.now);
      volume.gain.setTargetAtTime(0, this.now, 0.02);
      tones.forEach((tone) => tone.stop(this.now + 0.15));
    }
    this.voices.clear();
  }
}

export class Player {
  // `moved(seconds)` follows the music; `ended` is told when it is over or stopped.
  constructor({ synth, moved, ended }) {
    Object.assign(this, { synth, moved, ended, timer: 0 });
  }

  get playing() {
    return this.timer !== 0;
  }

  async play(notes, from = 0) {
    this.stop();
    await this.synth.wake();
    const waiting = notes.filter((note) => note.end > from).sort((a, b) => a.start - b.start);
    if (waiting.length === 0) {
      this.ended();
      return;
    }
    const last = Math.max(...waiting.map((note) => note.end));
    const zero = this.synth.now + 0.08 - from;
    let next = 0;
    const look = () => {
      const time = this.synth.now - zero;
      for (; next < waiting.length && waiting[next].start < time + kAhead; ++next) {
        const note = waiting[next],
          start = Math.max(note.start, from);
        this.synth.sound(note, Math.max(this.synth.now, zero + start), note.end - start);
      }
      if (time > last + 0.3) this.stop();
    };
    this.timer = setInterval(look, kTick);
    look();
    const follow = () => {
      if (!this.playing) return;
      this.moved(Math.max(from, this.synth.now - zero));
      requestAnimationFrame(follow);
    };
    follow();
  }

  stop() {
    if (!this.playing) return;
    clearInterval(this.timer);
    this.timer = 0;
    this.synth.silence();
    this.ended();
  }
}
