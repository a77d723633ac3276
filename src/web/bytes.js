// Bytes in JSON: base64, and the little-endian floats that weights travel as.
export function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

export function base64Of(bytes) {
  let text = "";
  const kChunk = 0x8000; // fromCharCode takes its bytes as arguments, and engines limit those
  for (let at = 0; at < bytes.length; at += kChunk)
    text += String.fromCharCode(...bytes.subarray(at, at + kChunk));
  return btoa(text);
}

export function floatsOf(base64) {
  const bytes = bytesOf(base64);
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => view.getFloat32(4 * i, true));
}
