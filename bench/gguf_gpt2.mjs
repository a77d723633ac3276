// Writes GPT-2 124M with random weights (normal, deviation 0.02) as GGUF v3, for bench/llama_peer.sh.
//
// usage: node bench/gguf_gpt2.mjs OUT.gguf f32|bf16|f16|q8_0 [GPT2_VOCAB.json GPT2_MERGES.txt]
//
// Matrices have the named type; vectors and the table of positions stay f32, as in llama.cpp's own conversions. The
// output matrix is the table of tokens. Without a vocabulary its tokens are 50,257 made-up words: speed does not
// depend on them.
import fs from 'node:fs';

const kVocabulary = 50257, kContext = 1024, kWidth = 768, kLayers = 12, kHeads = 12, kHidden = 3072;
const kAlignment = 32, kBlock = 32;
const kTypes = {f32: 0, f16: 1, q8_0: 8, bf16: 30};  // of ggml
const kUint32 = 4, kFloat32 = 6, kString = 8, kArray = 9, kInt32 = 5;  // of metadata
const kDeviation = 0.02;

const u32 = (value) => { const b = Buffer.alloc(4); b.writeUInt32LE(value); return b; };
const u64 = (value) => { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(value)); return b; };
const f32 = (value) => { const b = Buffer.alloc(4); b.writeFloatLE(value); return b; };
const string = (text) => { const b = Buffer.from(text); return Buffer.concat([u64(b.length), b]); };
const kEncoders = {[kUint32]: u32, [kInt32]: u32, [kFloat32]: f32, [kString]: string};
const pair = (key, type, value) => Buffer.concat([string(key), u32(type), kEncoders[type](value)]);
const list = (key, type, values) => Buffer.concat(
  [string(key), u32(kArray), u32(type), u64(values.length), ...values.map(kEncoders[type])]);

// Normal numbers come from a pool read at a random place for every tensor: a hundred million of them one by one would
// take longer than the measurement.
class Normal {
  #pool = new Float32Array(1 << 20);
  #state = 1;

  constructor() {
    for (let i = 0; i < this.#pool.length; i += 2) {
      const radius = Math.sqrt(-2 * Math.log(1 - this.#uniform())) * kDeviation, angle = 2 * Math.PI * this.#uniform();
      this.#pool[i] = radius * Math.cos(angle);
      this.#pool[i + 1] = radius * Math.sin(angle);
    }
  }

  #uniform() {  // a 32-bit xorshift
    let x = this.#state;
    x ^= x << 13; x ^= x >>> 17; x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state / 2 ** 32;
  }

  take(count) {
    const values = new Float32Array(count);
    for (let begin = 0; begin < count;) {
      // Pieces of changing place, so that rows do not repeat.
      const place = Math.floor(this.#uniform() * (this.#pool.length - kWidth));
      const piece = this.#pool.subarray(place, place + Math.min(kWidth, count - begin));
      values.set(piece, begin);
      begin += piece.length;
    }
    return values;
  }
}

// Round to nearest; weights of deviation 0.02 are far from the ends of f16, the smallest become 0.
function half(value) {
  const view = half.view ??= new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  const bits = view.getUint32(0) + 0x1000, sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 255) - 112;
  return exponent <= 0 ? sign : sign | (exponent << 10) | ((bits >>> 13) & 1023);
}

const bytes_of = (typed) => Buffer.from(typed.buffer, typed.byteOffset, typed.byteLength);
function encode(values, type) {
  if (type === 'f32') return bytes_of(values);
  if (type === 'f16') return bytes_of(Uint16Array.from(values, half));
  if (type === 'bf16') {
    const bits = new Uint32Array(values.buffer);
    return bytes_of(Uint16Array.from(bits, (b) => (b + 0x7fff + ((b >>> 16) & 1)) >>> 16));
  }
  // q8_0: blocks of 32, an f16 scale and the integers.
  const result = Buffer.alloc(values.length / kBlock * (kBlock + 2));
  for (let begin = 0, to = 0; begin < values.length; begin += kBlock, to += kBlock + 2) {
    let largest = 0;
    for (let i = 0; i < kBlock; ++i) largest = Math.max(largest, Math.abs(values[begin + i]));
    result.writeUInt16LE(half(largest / 127), to);
    for (let i = 0; i < kBlock; ++i) result.writeInt8(Math.round(values[begin + i] * 127 / largest), to + 2 + i);
  }
  return result;
}
const size_of = (count, type) => ({f32: 4, f16: 2, bf16: 2, q8_0: 34 / 32})[type] * count;
const padded = (bytes) => Math.ceil(bytes / kAlignment) * kAlignment;

// GGUF gives the fastest dimension first.
function tensors_of(type) {
  const tensors = [];
  const matrix = (name, columns, rows, own = type) => tensors.push({name, dims: [columns, rows], type: own});
  const linear = (name, inputs, outputs) => {
    matrix(`${name}.weight`, inputs, outputs);
    tensors.push({name: `${name}.bias`, dims: [outputs], type: 'f32', value: 0});
  };
  const norm = (name) => {
    tensors.push({name: `${name}.weight`, dims: [kWidth], type: 'f32', value: 1});
    tensors.push({name: `${name}.bias`, dims: [kWidth], type: 'f32', value: 0});
  };
  matrix('token_embd.weight', kWidth, kVocabulary);
  matrix('position_embd.weight', kWidth, kContext, 'f32');
  for (let i = 0; i < kLayers; ++i) {
    norm(`blk.${i}.attn_norm`);
    linear(`blk.${i}.attn_qkv`, kWidth, 3 * kWidth);
    linear(`blk.${i}.attn_output`, kWidth, kWidth);
    norm(`blk.${i}.ffn_norm`);
    linear(`blk.${i}.ffn_up`, kWidth, kHidden);
    linear(`blk.${i}.ffn_down`, kHidden, kWidth);
  }
  norm('output_norm');
  return tensors;
}

function vocabulary(vocab, merges) {
  if (!vocab) {
    return {tokens: Array.from({length: kVocabulary}, (_, i) => `<${i}>`), merges: ['< 0']};
  }
  const tokens = [];
  for (const [token, id] of Object.entries(JSON.parse(fs.readFileSync(vocab, 'utf8')))) tokens[id] = token;
  if (tokens.length !== kVocabulary) throw new Error(`${vocab} has ${tokens.length} tokens, expected ${kVocabulary}`);
  return {tokens, merges: fs.readFileSync(merges, 'utf8').split('\n').filter((l) => l && !l.startsWith('#version'))};
}

function metadata({tokens, merges}) {
  const kNormal = 1, kControl = 3;  // kinds of token
  return [
    pair('general.architecture', kString, 'gpt2'),
    pair('general.name', kString, 'GPT-2 124M, random weights'),
    pair('general.alignment', kUint32, kAlignment),
    pair('gpt2.context_length', kUint32, kContext),
    pair('gpt2.embedding_length', kUint32, kWidth),
    pair('gpt2.block_count', kUint32, kLayers),
    pair('gpt2.feed_forward_length', kUint32, kHidden),
    pair('gpt2.attention.head_count', kUint32, kHeads),
    pair('gpt2.attention.layer_norm_epsilon', kFloat32, 1e-5),
    pair('tokenizer.ggml.model', kString, 'gpt2'),
    pair('tokenizer.ggml.pre', kString, 'gpt-2'),
    list('tokenizer.ggml.tokens', kString, tokens),
    list('tokenizer.ggml.token_type', kInt32, tokens.map((_, i) => (i === kVocabulary - 1 ? kControl : kNormal))),
    list('tokenizer.ggml.merges', kString, merges),
    pair('tokenizer.ggml.bos_token_id', kUint32, kVocabulary - 1),
    pair('tokenizer.ggml.eos_token_id', kUint32, kVocabulary - 1),
  ];
}

function write(out, type, words) {
  const pairs = metadata(words), tensors = tensors_of(type);
  let offset = 0;
  const infos = tensors.map(({name, dims, type}) => {
    const info = Buffer.concat([string(name), u32(dims.length), ...dims.map(u64), u32(kTypes[type]), u64(offset)]);
    offset += padded(size_of(dims.reduce((a, b) => a * b), type));
    return info;
  });
  const file = fs.openSync(`${out}.part`, 'w');
  const put = (data) => {
    fs.writeSync(file, data);
    fs.writeSync(file, Buffer.alloc(padded(data.length) - data.length));
  };
  put(Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(pairs.length), ...pairs, ...infos]));
  const normal = new Normal();
  for (const {dims, type, value} of tensors) {
    const count = dims.reduce((a, b) => a * b);
    put(encode(value === undefined ? normal.take(count) : new Float32Array(count).fill(value), type));
  }
  fs.closeSync(file);
  fs.renameSync(`${out}.part`, out);
}

const [out, type, vocab, merges] = process.argv.slice(2);
if (!(type in kTypes) || Boolean(vocab) !== Boolean(merges)) {
  console.error('usage: node bench/gguf_gpt2.mjs OUT.gguf f32|bf16|f16|q8_0 [GPT2_VOCAB.json GPT2_MERGES.txt]');
  process.exit(2);
}
write(out, type, vocabulary(vocab, merges));
