// Pictures to and from the server: any image file becomes a PNG of just the size and channels that a
// model reads. A canvas would write four channels, with opacity.
import { base64Of } from "./bytes.js";

let table = null;
function crcTable() {
  return Uint32Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c;
  });
}

function crc(bytes) {
  table ??= crcTable();
  let c = 0xffffffff;
  for (const byte of bytes) c = table[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

function chunk(name, data) {
  const made = new Uint8Array(12 + data.length);
  const view = new DataView(made.buffer);
  view.setUint32(0, data.length);
  made.set(
    [...name].map((letter) => letter.charCodeAt(0)),
    4,
  );
  made.set(data, 8);
  view.setUint32(8 + data.length, crc(made.subarray(4, 8 + data.length)));
  return made;
}

async function deflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// rgba: an ImageData. channels: 1 for grey, 3 for colours.
export async function encodePng({ data, width, height }, channels) {
  const lines = new Uint8Array(height * (1 + width * channels)); // each line begins with its filter: none
  let at = 0;
  for (let pixel = 0; pixel < width * height; ++pixel) {
    if (pixel % width === 0) ++at;
    const [red, green, blue] = data.subarray(4 * pixel, 4 * pixel + 3);
    if (channels === 1) lines[at++] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
    else for (const sample of [red, green, blue]) lines[at++] = sample;
  }
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  head.set([8, channels === 1 ? 0 : 2, 0, 0, 0], 8);
  const kSignature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  return new Blob(
    [kSignature, chunk("IHDR", head), chunk("IDAT", await deflate(lines)), chunk("IEND", new Uint8Array(0))],
    { type: "image/png" },
  );
}

// The middle of a picture, in the shape asked for, on white.
export async function fitPicture(blob, width, height) {
  const bitmap = await createImageBitmap(blob);
  const scale = Math.max(width / bitmap.width, height / bitmap.height);
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(
    bitmap,
    (width - bitmap.width * scale) / 2,
    (height - bitmap.height * scale) / 2,
    bitmap.width * scale,
    bitmap.height * scale,
  );
  bitmap.close();
  return context.getImageData(0, 0, width, height);
}

export const base64OfBlob = async (blob) => base64Of(new Uint8Array(await blob.arrayBuffer()));
export const pngUrl = (base64) => `data:image/png;base64,${base64}`;
