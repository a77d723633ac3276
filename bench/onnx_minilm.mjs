// Writes the ONNX form of a BERT encoder from its folder of safetensors, for bench/embed_peer.sh.
//
// usage: node bench/onnx_minilm.mjs MODEL_FOLDER OUT.onnx f32|int8
//
// The graph is what ONNX Runtime's own offline optimizer for transformers arrives at: its fused operators (domain
// com.microsoft) for embeddings, attention, residual with normalisation and GELU. int8 quantises the weights of the
// products symmetrically by output column and their inputs at run time, as its dynamic quantisation does.
// Inputs: ids and mask, int32 [batch, length]. Output: embedding, f32 [batch, 1, width], the mean over a text's
// tokens at length 1.
import fs from 'node:fs';
import path from 'node:path';

// Protocol buffers: a message is a list of fields.
function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) {
      bytes.push(Number(rest));
      return Buffer.from(bytes);
    }
    bytes.push(Number(rest & 127n) | 128);
  }
}
const integer = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
function bytes(field, value) {
  const data = Buffer.from(value);
  return Buffer.concat([varint(field * 8 + 2), varint(data.length), data]);
}
function float(field, value) {
  const data = Buffer.alloc(4);
  data.writeFloatLE(value);
  return Buffer.concat([varint(field * 8 + 5), data]);
}
const message = (field, ...parts) => bytes(field, Buffer.concat(parts));

const kFloat = 1, kInt8 = 3, kInt32 = 6, kInt64 = 7;  // of TensorProto.DataType
const raw = (typed) => Buffer.from(typed.buffer, typed.byteOffset, typed.byteLength);

class Graph {
  #parts = [];
  #names = 0;

  constant(dims, type, typed) {
    const name = `c${this.#names++}`;
    this.#parts.push(message(5, ...dims.map((d) => integer(1, d)), integer(2, type), bytes(8, name),
                             bytes(9, raw(typed))));
    return name;
  }

  // Attributes: whole numbers are ints, except where the name is a float's.
  node(domain, type, inputs, attributes = {}, outputs = 1) {
    const names = Array.from({length: outputs}, () => `v${this.#names++}`);
    const fields = Object.entries(attributes).map(([name, value]) =>
      name === 'epsilon'
        ? message(5, bytes(1, name), float(2, value), integer(20, 1))
        : message(5, bytes(1, name), integer(3, value), integer(20, 2)));
    this.#parts.push(message(1, ...inputs.map((i) => bytes(1, i)), ...names.map((o) => bytes(2, o)), bytes(3, names[0]),
                             bytes(4, type), ...fields, bytes(7, domain)));
    return outputs === 1 ? names[0] : names;
  }

  #value(field, name, type, dims) {
    const shape = message(2, ...dims.map((d) =>
      message(1, typeof d === 'string' ? bytes(2, d) : integer(1, d))));
    this.#parts.push(message(field, bytes(1, name), message(2, message(1, integer(1, type), shape))));
  }
  input(name, type, dims) { this.#value(11, name, type, dims); return name; }
  output(name, type, dims) { this.#value(12, name, type, dims); }

  file() {
    const opset = (domain, version) => message(8, bytes(1, domain), integer(2, version));
    return Buffer.concat([integer(1, 8), bytes(2, 'heed-bench'),
                          message(7, ...this.#parts, bytes(2, 'encoder')), opset('', 17), opset('com.microsoft', 1)]);
  }
}

function half(bits) {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24
    : exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -size : size;
}

function open_tensors(folder) {
  const file = fs.readdirSync(folder).find((name) => name.endsWith('.safetensors'));
  if (!file) throw new Error(`${folder} has no .safetensors file`);
  const data = fs.readFileSync(path.join(folder, file));
  const header = Number(data.readBigUInt64LE(0));
  const infos = JSON.parse(data.subarray(8, 8 + header));
  return (name) => {
    const info = infos[name] ?? infos[`bert.${name}`];
    if (!info) throw new Error(`${file} has no tensor ${name}`);
    const [begin, end] = info.data_offsets.map((o) => o + 8 + header);
    const copy = Uint8Array.from(data.subarray(begin, end)).buffer;
    if (info.dtype === 'F32') return new Float32Array(copy);
    if (info.dtype === 'F16') return Float32Array.from(new Uint16Array(copy), half);
    throw new Error(`${file}: ${name} is ${info.dtype}, expected F32 or F16`);
  };
}

// Linear layers are stored [out, in]; several become the columns of one [in, out] matrix.
function columns(layers, rows) {
  const width = layers.reduce((sum, layer) => sum + layer.length / rows, 0);
  const result = new Float32Array(rows * width);
  let column = 0;
  for (const layer of layers) {
    for (let out = 0; out < layer.length / rows; ++out, ++column) {
      for (let row = 0; row < rows; ++row) result[row * width + column] = layer[out * rows + row];
    }
  }
  return result;
}

// Symmetric, one scale a column.
function quantise(matrix, rows) {
  const width = matrix.length / rows;
  const scales = new Float32Array(width);
  matrix.forEach((value, i) => { scales[i % width] = Math.max(scales[i % width], Math.abs(value) / 127); });
  return {scales, values: Int8Array.from(matrix, (value, i) => Math.round(value / (scales[i % width] || 1)))};
}

class Encoder {
  constructor(folder, int8) {
    this.config = JSON.parse(fs.readFileSync(path.join(folder, 'config.json'), 'utf8'));
    this.tensor = open_tensors(folder);
    this.int8 = int8;
    this.graph = new Graph();
  }

  vector(name) {
    const values = this.tensor(name);
    return this.graph.constant([values.length], kFloat, values);
  }

  weights(matrix, rows) {
    const width = matrix.length / rows;
    if (!this.int8) return {matrix: this.graph.constant([rows, width], kFloat, matrix)};
    const {scales, values} = quantise(matrix, rows);
    return {matrix: this.graph.constant([rows, width], kInt8, values),
            scales: this.graph.constant([width], kFloat, scales),
            zeros: this.graph.constant([width], kInt8, new Int8Array(width))};
  }

  product(x, name, rows) {
    const w = this.weights(columns([this.tensor(`${name}.weight`)], rows), rows);
    return this.int8 ? this.graph.node('com.microsoft', 'DynamicQuantizeMatMul', [x, w.matrix, w.scales, w.zeros])
                     : this.graph.node('', 'MatMul', [x, w.matrix]);
  }

  add_normalise(x, residual, prefix) {
    return this.graph.node(
      'com.microsoft', 'SkipLayerNormalization',
      [x, residual, this.vector(`${prefix}.LayerNorm.weight`), this.vector(`${prefix}.LayerNorm.bias`),
       this.vector(`${prefix}.dense.bias`)],
      {epsilon: this.config.layer_norm_eps});
  }

  embeddings(ids) {
    const width = this.config.hidden_size;
    const positions = this.tensor('embeddings.position_embeddings.weight');
    // Every token is of type 0, so its vector goes into the positions.
    const type = this.tensor('embeddings.token_type_embeddings.weight').subarray(0, width);
    const table = (values) => this.graph.constant([values.length / width, width], kFloat, values);
    return this.graph.node(
      'com.microsoft', 'EmbedLayerNormalization',
      [ids, '', table(this.tensor('embeddings.word_embeddings.weight')),
       table(positions.map((value, i) => value + type[i % width])), '',
       this.vector('embeddings.LayerNorm.weight'), this.vector('embeddings.LayerNorm.bias')],
      {epsilon: this.config.layer_norm_eps}, 2)[0];
  }

  attention(x, mask, prefix) {
    const width = this.config.hidden_size;
    const parts = ['query', 'key', 'value'].map((part) => `${prefix}.self.${part}`);
    const w = this.weights(columns(parts.map((part) => this.tensor(`${part}.weight`)), width), width);
    const bias = Float32Array.from(parts.flatMap((part) => [...this.tensor(`${part}.bias`)]));
    const biases = this.graph.constant([bias.length], kFloat, bias);
    const heads = {num_heads: this.config.num_attention_heads};
    if (!this.int8) return this.graph.node('com.microsoft', 'Attention', [x, w.matrix, biases, mask], heads);
    const [values, scale, zero] = this.graph.node('', 'DynamicQuantizeLinear', [x], {}, 3);
    return this.graph.node('com.microsoft', 'QAttention',
                           [values, w.matrix, biases, scale, w.scales, mask, zero, w.zeros], heads);
  }

  layer(x, mask, index) {
    const prefix = `encoder.layer.${index}`;
    const {hidden_size: width, intermediate_size: inner} = this.config;
    const attended = this.product(this.attention(x, mask, `${prefix}.attention`),
                                  `${prefix}.attention.output.dense`, width);
    const middle = this.add_normalise(attended, x, `${prefix}.attention.output`);
    const hidden = this.graph.node('com.microsoft', 'BiasGelu',
                                   [this.product(middle, `${prefix}.intermediate.dense`, width),
                                    this.vector(`${prefix}.intermediate.dense.bias`)]);
    return this.add_normalise(this.product(hidden, `${prefix}.output.dense`, inner), middle, `${prefix}.output`);
  }

  build() {
    if (this.config.hidden_act !== 'gelu') throw new Error(`activation ${this.config.hidden_act}, expected gelu`);
    const graph = this.graph;
    const ids = graph.input('ids', kInt32, ['batch', 'length']);
    const mask = graph.input('mask', kInt32, ['batch', 'length']);
    let x = this.embeddings(ids);
    for (let i = 0; i < this.config.num_hidden_layers; ++i) x = this.layer(x, mask, i);
    // The sum over real tokens has the direction of their mean.
    const weights = graph.node('', 'Unsqueeze', [graph.node('', 'Cast', [mask], {to: kFloat}),
                                                 graph.constant([1], kInt64, BigInt64Array.of(1n))]);
    const sum = graph.node('', 'MatMul', [weights, x]);
    graph.output(graph.node('', 'LpNormalization', [sum], {axis: 2, p: 2}), kFloat,
                 ['batch', 1, this.config.hidden_size]);
    return graph.file();
  }
}

const [folder, out, type] = process.argv.slice(2);
if (!['f32', 'int8'].includes(type)) {
  console.error('usage: node bench/onnx_minilm.mjs MODEL_FOLDER OUT.onnx f32|int8');
  process.exit(2);
}
fs.writeFileSync(out, new Encoder(folder, type === 'int8').build());
