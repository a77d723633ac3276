// Beginnings to try, written as [pitch, start, length] in steps.
const note =
  (step) =>
  ([pitch, start, length], i) => ({
    start: start * step,
    end: (start + length * 0.95) * step,
    pitch,
    velocity: 70 + ((i * 7) % 20),
    channel: 0,
  });

const run = (pitches, length = 1) => pitches.map((pitch, i) => [pitch, i * length, length]);
const chords = (voices, length) =>
  voices.flatMap((chord, i) => chord.map((pitch) => [pitch, i * length, length]));

export const kMotifs = {
  arpeggios: {
    name: "Arpeggios",
    notes: run([48, 55, 60, 64, 67, 64, 60, 55, 45, 52, 57, 60, 64, 60, 57, 52]).map(note(0.18)),
  },
  melody: {
    name: "A melody",
    notes: [
      [67, 0, 2],
      [64, 2, 1],
      [65, 3, 1],
      [67, 4, 2],
      [72, 6, 2],
      [71, 8, 1],
      [69, 9, 1],
      [67, 10, 2],
      [48, 0, 4],
      [52, 4, 4],
      [53, 8, 4],
    ].map(note(0.25)),
  },
  chorale: {
    name: "Four voices",
    notes: chords(
      [
        [48, 55, 64, 72],
        [47, 55, 62, 74],
        [45, 57, 60, 76],
        [41, 57, 60, 72],
        [43, 55, 62, 71],
      ],
      4,
    ).map(note(0.1875)),
  },
  nothing: { name: "Nothing", notes: [] },
};
