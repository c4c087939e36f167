// The thinnest HTTP server around llama.cpp's runtime: llama_cpp_server.mjs MODEL SEQUENCES THREADS. Prints its port.
// POST {"prompt": text, "max_tokens": N} gives {"text": ...}, written greedily. The runtime batches the sequences that are
// written at the same time; a request waits where all of them are in use.
import http from "node:http";
import path from "node:path";

const { getLlama, LlamaCompletion, LlamaLogLevel } = await import(
  path.join(process.env.HEED_LLAMA_CPP, "node_modules/node-llama-cpp/dist/index.js")
);
const [file, sequences, threads] = process.argv.slice(2);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 0, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: path.resolve(file) });
const context = await model.createContext({
  sequences: Number(sequences),
  contextSize: 512,
  batchSize: 512,
  threads: Number(threads),
  ignoreMemorySafetyChecks: true,
});
const writers = Array.from(
  { length: Number(sequences) },
  () => new LlamaCompletion({ contextSequence: context.getSequence() }),
);
const waiting = [];

async function write({ prompt, max_tokens }) {
  const writer = writers.pop() ?? (await new Promise((resolve) => waiting.push(resolve)));
  try {
    return await writer.generateCompletion(prompt, { maxTokens: max_tokens, temperature: 0 });
  } finally {
    const next = waiting.shift();
    if (next) next(writer);
    else writers.push(writer);
  }
}

const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ text: await write(JSON.parse(body)) }));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
