// Times onnxruntime on an encoder that torch_export_encoder.py wrote:
//   node onnx_embed.mjs MODEL.onnx THREADS SECONDS TEXTSxTOKENS...
// and prints one JSON object: for each case the seconds of a batch, the best and the median, and the least processor time.
import { createRequire } from "node:module";
import { join } from "node:path";

const folder = process.env.HEED_ONNXRUNTIME ?? join(import.meta.dirname, "..", "..", "made", "onnxruntime");
const ort = createRequire(join(folder, "package.json"))("onnxruntime-node");
const [model, threads, seconds, ...cases] = process.argv.slice(2);
const session = await ort.InferenceSession.create(model, {
  intraOpNumThreads: Number(threads),
  interOpNumThreads: 1,
  graphOptimizationLevel: "all",
});
const whole = (texts, tokens, value) =>
  new ort.Tensor("int64", BigInt64Array.from({ length: texts * tokens }, (_, i) => BigInt(value(i))), [texts, tokens]);
const found = [];
for (const name of cases) {
  const [texts, tokens] = name.split("x").map(Number);
  const feeds = {
    ids: whole(texts, tokens, (i) => (i * 7919) % 30000),
    mask: whole(texts, tokens, () => 1),
    types: whole(texts, tokens, () => 0),
  };
  const times = [], used = [];
  for (let i = 0; i < 3; ++i) await session.run(feeds);
  for (const end = performance.now() + 1000 * seconds; performance.now() < end || times.length < 5; ) {
    const begin = performance.now(), before = process.cpuUsage();
    await session.run(feeds);
    times.push((performance.now() - begin) / 1000);
    const { user, system } = process.cpuUsage(before);
    used.push((user + system) / 1e6);
  }
  times.sort((a, b) => a - b);
  found.push({ case: name, best_seconds: times[0], seconds: times[times.length >> 1], processor_seconds: Math.min(...used) });
}
console.log(JSON.stringify({ version: ort.env.versions.node, cases: found }));
