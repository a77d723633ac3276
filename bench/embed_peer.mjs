// ONNX Runtime embeds lines of text: the peer of `heed embed` in bench/embed_peer.sh.
//
// usage: node bench/embed_peer.mjs PEERS MODEL_FOLDER MODEL.onnx LINES THREADS BATCH_TOKENS[,...] [--npy FILE]
//          [--reference FILE]
//
// Texts are sorted by length and go in batches of about BATCH_TOKENS tokens; of several sizes the fastest counts.
// Prints one JSON object: sentences, tokens, seconds to load, to tokenise and to run the model, the batch size taken,
// the least cosine with the vectors of an .npy file, and the largest difference from reference embeddings.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {parseArgs} from 'node:util';

const kLongest = 512;
const {values: options, positionals} =
  parseArgs({allowPositionals: true, options: {npy: {type: 'string'}, reference: {type: 'string'}}});
const [peers, folder, model, lines, threads, sizes] = positionals;
if (positionals.length !== 6) {
  console.error('embed_peer.mjs: started by bench/embed_peer.sh; its head tells the arguments');
  process.exit(2);
}
const installed = createRequire(path.resolve(peers, 'package.json'));
const ort = installed('onnxruntime-node');
const {Tokenizer} = installed('@huggingface/tokenizers');

const seconds = () => performance.now() / 1e3;

function largest_difference(a, b) {
  if (a.length !== b.length) throw new Error(`${a.length} values beside ${b.length}`);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}

// Of vectors of length 1.
function least_cosine(a, b, count) {
  if (a.length !== b.length) throw new Error(`${a.length} values beside ${b.length}`);
  const sums = new Float64Array(count);
  a.forEach((value, i) => { sums[Math.floor(i * count / a.length)] += value * b[i]; });
  return Math.min(...sums);
}

function open_npy(file) {
  const data = fs.readFileSync(file);
  const start = 10 + data.readUInt16LE(8);
  return new Float32Array(Uint8Array.from(data.subarray(start)).buffer);
}

// Indices of texts, sorted by length, in groups whose padded size stays within the budget.
function batches_of(texts, budget) {
  const order = texts.map((_, i) => i).sort((a, b) => texts[b].length - texts[a].length);
  const result = [];
  for (let begin = 0; begin < order.length;) {
    const count = Math.max(1, Math.floor(budget / texts[order[begin]].length));
    result.push(order.slice(begin, begin + count));
    begin += count;
  }
  return result;
}

async function embed(session, texts, budget) {
  let vectors;
  for (const batch of batches_of(texts, budget)) {
    const length = texts[batch[0]].length;
    const ids = new Int32Array(batch.length * length), mask = new Int32Array(batch.length * length);
    batch.forEach((text, row) => {
      ids.set(texts[text], row * length);
      mask.fill(1, row * length, row * length + texts[text].length);
    });
    const tensor = (values) => new ort.Tensor('int32', values, [batch.length, length]);
    const outputs = await session.run({ids: tensor(ids), mask: tensor(mask)});
    const {data} = outputs[session.outputNames[0]];
    const width = data.length / batch.length;
    vectors ??= new Float32Array(texts.length * width);
    batch.forEach((text, row) => vectors.set(data.subarray(row * width, (row + 1) * width), text * width));
  }
  return vectors;
}

let start = seconds();
const json = JSON.parse(fs.readFileSync(path.join(folder, 'tokenizer.json'), 'utf8'));
const tokenizer = new Tokenizer(json, {});
const session = await ort.InferenceSession.create(model, {
  intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all',
});
const result = {load: seconds() - start};

const sentences = fs.readFileSync(lines, 'utf8').replace(/\n$/, '').split('\n');
const tokenise = (texts) => texts.map((text) => tokenizer.encode(text).ids.slice(0, kLongest));
start = seconds();
const texts = tokenise(sentences);
result.tokenise = seconds() - start;
result.sentences = texts.length;
result.tokens = texts.reduce((sum, text) => sum + text.length, 0);

await embed(session, texts.slice(0, 64), 1024);  // warm-up
result.run = Infinity;
let vectors;
for (const budget of sizes.split(',').map(Number)) {
  start = seconds();
  vectors = await embed(session, texts, budget);
  const run = seconds() - start;
  if (run < result.run) Object.assign(result, {run, batch: budget});
}
if (options.npy) result.least_cosine = least_cosine(vectors, open_npy(options.npy), texts.length);
if (options.reference) {
  const {sentences, embeddings} = JSON.parse(fs.readFileSync(options.reference, 'utf8'));
  result.reference = largest_difference(await embed(session, tokenise(sentences), 1024), embeddings.flat());
}
console.log(JSON.stringify(result));
