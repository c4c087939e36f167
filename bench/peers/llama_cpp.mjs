// llama.cpp on a GGUF file: llama_cpp.mjs MODEL COMMAND [name=value]... < requests > answers, both in JSON lines.
//   about   null: {context, begin: the tokens before each text, end: the one after it, special: those not for text}
//   tokens  a text: its tokens, without those before it
//   score   tokens: the log-probability of each but the first after those before it
//   greedy  {tokens, count, never: [tokens]}: the likeliest of the others, again and again: {token, log_prob, second,
//           second_log_prob}
//   speed   {prompt, tokens, streams: [N...]}: seconds until the first token; tokens/s of so many sequences
// threads=N (1) computes with so many; cache=f32|f16 (f16) is the type of cached keys and values.
// llama_cpp.py calls it, and says where the package is.
import path from "node:path";
import readline from "node:readline";

const { getLlama, LlamaLogLevel } = await import(
  path.join(process.env.HEED_LLAMA_CPP, "node_modules/node-llama-cpp/dist/index.js")
);
const [file, command, ...rest] = process.argv.slice(2);
const options = { threads: "1", cache: "f16", ...Object.fromEntries(rest.map((word) => word.split("="))) };
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 0, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: path.resolve(file), vocabOnly: command === "tokens" });

// The package's own interface works sequence by sequence; this is the one below it, which llama.cpp's is.
async function open(shape) {
  const type = options.cache.toUpperCase();
  const context = await model.createContext({
    sequences: shape.sequences,
    contextSize: shape.length,
    batchSize: shape.batch,
    threads: Number(options.threads),
    flashAttention: options.cache === "f16" ? "auto" : false,
    experimentalKvCacheKeyType: type,
    experimentalKvCacheValueType: type,
    ignoreMemorySafetyChecks: true,
  });
  const sampler = new llama._bindings.AddonSampler(model._model);
  sampler.applyConfig({});
  return { context, native: context._ctx, sampler };
}

// Reads tokens behind `begin` others of each sequence; returns where the logits of the wanted ones are.
async function read(native, groups) {
  native.initBatch(groups.reduce((sum, group) => sum + group.tokens.length, 0));
  const rows = groups.map(({ sequence, begin, tokens, wanted }) =>
    native.addToBatch(sequence, begin, Uint32Array.from(tokens), Uint32Array.from(wanted)),
  );
  await native.decodeBatch();
  return rows;
}

// Of one row of logits: each token's log-probability.
async function log_probs(native, sampler, row) {
  const [, , , flat] = await native.sampleToken(row, sampler, false, false, true);
  const logits = new Float64Array(flat.length / 2);
  for (let i = 0; i < flat.length; i += 2) logits[flat[i]] = flat[i + 1];
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
  return logits.map((logit) => logit - most - Math.log(sum));
}

async function score(tokens) {
  const { context, native, sampler } = await open({ sequences: 1, length: tokens.length, batch: tokens.length });
  const wanted = tokens.slice(1).map((_, i) => i);
  const [rows] = await read(native, [{ sequence: 0, begin: 0, tokens, wanted }]);
  const scores = [];
  for (const [i, row] of rows.entries()) scores.push((await log_probs(native, sampler, row))[tokens[i + 1]]);
  await context.dispose();
  return scores;
}

async function greedy({ tokens, count, never }) {
  const length = tokens.length + count;
  const { context, native, sampler } = await open({ sequences: 1, length, batch: tokens.length });
  const written = [];
  let [[row]] = await read(native, [{ sequence: 0, begin: 0, tokens, wanted: [tokens.length - 1] }]);
  while (written.length < count) {
    const scores = await log_probs(native, sampler, row);
    const order = [...scores.keys()].filter((token) => !never.includes(token)).sort((a, b) => scores[b] - scores[a]);
    const [token, second] = order;
    written.push({ token, log_prob: scores[token], second, second_log_prob: scores[second] });
    const begin = tokens.length + written.length - 1;
    [[row]] = await read(native, [{ sequence: 0, begin, tokens: [token], wanted: [0] }]);
  }
  await context.dispose();
  return written;
}

const seconds = async (work) => {
  const begin = performance.now();
  await work();
  return (performance.now() - begin) / 1000;
};
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

// The time of llama.cpp alone: choosing a token from the logits is left out.
async function speed({ prompt, tokens, streams }) {
  const warmup = 3, rounds = 5;
  const vocabulary = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
  const some = (count) => Array.from({ length: count }, (_, i) => (i * 7919 + 13) % vocabulary);
  const result = { threads: Number(options.threads), prompt, streams: [] };
  const alone = await open({ sequences: 1, length: prompt, batch: prompt });
  const first = { sequence: 0, begin: 0, tokens: some(prompt), wanted: [prompt - 1] };
  const times = [];
  for (let round = 0; round <= rounds; ++round) {
    const time = await seconds(() => read(alone.native, [first]));
    if (round > 0) times.push(time);
    alone.native.disposeSequence(0);
  }
  result.prompt_seconds = median(times);
  await alone.context.dispose();
  for (const count of streams) {
    const batch = Math.max(prompt, count);
    const { context, native } = await open({ sequences: count, length: prompt + warmup + tokens, batch });
    for (let s = 0; s < count; ++s) await read(native, [{ ...first, sequence: s }]);
    const steps = [];
    for (let step = 0; step < warmup + tokens; ++step) {
      const fresh = some(count).map((token, s) => ({ sequence: s, begin: prompt + step, tokens: [token], wanted: [0] }));
      const time = await seconds(() => read(native, fresh));
      if (step >= warmup) steps.push(time);
    }
    const step = median(steps);
    result.streams.push({ streams: count, step_seconds: step, tokens_per_second: count / step });
    await context.dispose();
  }
  return result;
}

const about = async () => ({
  context: model.trainContextSize,
  begin: model.tokens.shouldPrependBosToken ? [model.tokens.bos] : [],
  end: model.tokens.eos,
  special: [...model.iterateAllTokens()].filter((token) => {
    const { control, unknown } = model.getTokenAttributes(token);
    return control || unknown;
  }),
});
const commands = { about, tokens: async (text) => [...model.tokenize(text, false)], score, greedy, speed };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const answer = JSON.stringify(await commands[command](JSON.parse(line)));
  await new Promise((written) => process.stdout.write(`${answer}\n`, written)); // before process.exit
}
process.exit(0);
