// Names of pitches.
const kNames = ["C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "A♯", "B"];
const kSpoken = ["C", "C sharp", "D", "D sharp", "E", "F", "F sharp", "G", "G sharp", "A", "A sharp", "B"];

const octaveOf = (pitch) => Math.floor(pitch / 12) - 1;
export const pitchName = (pitch) => `${kNames[pitch % 12]}${octaveOf(pitch)}`;
export const pitchSpoken = (pitch) => `${kSpoken[pitch % 12]} ${octaveOf(pitch)}`;
export const isBlack = (pitch) => [1, 3, 6, 8, 10].includes(pitch % 12);
