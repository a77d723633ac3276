// llama.cpp runs GPT-2 124M: the peer of `heed bench gpt-decode gpt-prefill` in bench/llama_peer.sh.
//
// usage: node bench/llama_peer.mjs PEERS MODEL.gguf THREADS REPETITIONS
//
// Greedy, batch 1: 128 new tokens after a prompt of 16, and a prompt of 512 with the logits of its last token. Each is
// run with and without flash attention; the best repetition counts. Prints one JSON object of tokens a second.
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const kPrompt = 16, kNew = 128, kLong = 512, kVocabulary = 50257;
const [peers, file, threads, repetitions] = process.argv.slice(2);
if (!repetitions) {
  console.error('llama_peer.mjs: started by bench/llama_peer.sh; its head tells the arguments');
  process.exit(2);
}
const {getLlama, LlamaLogLevel} =
  await import(pathToFileURL(path.resolve(peers, 'node_modules/node-llama-cpp/dist/index.js')));

const llama = await getLlama({
  gpu: false, build: 'never', maxThreads: Number(threads), logLevel: LlamaLogLevel.error, progressLogs: false,
});
const model = await llama.loadModel({modelPath: file, useMmap: false});
const prompt = (length) => Array.from({length}, (_, i) => (i * 7919 + 11) % (kVocabulary - 1));

// Seconds for the prompt and this many tokens after it.
async function generate(sequence, length, count) {
  await sequence.clearHistory();
  const start = performance.now();
  let made = 0;
  for await (const _ of sequence.evaluate(prompt(length), {temperature: 0, yieldEogToken: true})) {
    if (++made === count) break;
  }
  const seconds = (performance.now() - start) / 1e3;
  if (made !== count) throw new Error(`${made} tokens made, expected ${count}`);
  return seconds;
}

const result = {decode: 0, prefill: 0};
for (const flashAttention of [false, true]) {
  const context = await model.createContext({
    threads: {ideal: Number(threads), min: Number(threads)}, contextSize: 1024, batchSize: kLong, flashAttention,
  });
  const sequence = context.getSequence();
  await generate(sequence, kPrompt, 8);  // warm-up
  for (let i = 0; i < Number(repetitions); ++i) {
    const decode = kNew / await generate(sequence, kPrompt, kNew);
    const prefill = kLong / await generate(sequence, kLong, 1);
    if (decode > result.decode) Object.assign(result, {decode, decode_flash: flashAttention});
    if (prefill > result.prefill) Object.assign(result, {prefill, prefill_flash: flashAttention});
  }
  await context.dispose();
}
console.log(JSON.stringify(result));
await llama.dispose();
