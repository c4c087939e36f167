// What clients that others wrote make of a server's answers: clients.mjs ADDRESS, with HEED_CLIENTS naming the folder that
// install_clients filled. Prints one JSON object, from names to what was found.
import { createRequire } from "node:module";

const require = createRequire(process.env.HEED_CLIENTS + "/");
const { default: OpenAI } = require("openai");
const { ChatOpenAI, OpenAI: CompletionOpenAI, OpenAIEmbeddings } = require("@langchain/openai");
const { createParser } = require("eventsource-parser");
const { zodResponseFormat } = require("openai/helpers/zod");
const { z } = require("zod");

const address = process.argv[2];
const client = new OpenAI({ baseURL: address + "/v1", apiKey: "none", maxRetries: 0 });
const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }];
const chat = { model: "chat", messages, temperature: 1, seed: 3, max_tokens: 20 };
const found = {};

async function listOf(stream) {
  const list = [];
  for await (const one of stream) list.push(one);
  return list;
}

async function errorOf(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return { kind: error.constructor.name, status: error.status ?? null, message: error.message, param: error.param ?? null };
  }
}

found.models = (await listOf(client.models.list())).map((model) => model.id);
found.model = (await client.models.retrieve("text")).id;

const completion = { model: "text", prompt: ["Hello", "Ü"], n: 2, temperature: 1, seed: 3, max_tokens: 20 };
found.completions = (await client.completions.create(completion)).choices.map((choice) => choice.text);
found.streamed_completions = ["", "", "", ""];
for await (const chunk of await client.completions.create({ ...completion, stream: true }))
  found.streamed_completions[chunk.choices[0].index] += chunk.choices[0].text;

const whole = await client.chat.completions.create({ ...chat, n: 3 });
found.chat = whole.choices.map((choice) => choice.message.content);
found.chat_usage = whole.usage;
// The helper keeps what comes and puts it together.
const helper = client.chat.completions.stream({ ...chat, n: 3, stream_options: { include_usage: true } });
const final = await helper.finalChatCompletion();
found.helper_chat = final.choices.map((choice) => [choice.index, choice.message.role, choice.message.content, choice.finish_reason]);
found.helper_usage = await helper.totalUsage();

const Answer = z.object({ answer: z.enum(["yes", "no"]), sure: z.boolean() });
const parsed = await client.chat.completions.parse({ ...chat, max_tokens: 100, response_format: zodResponseFormat(Answer, "answer") });
found.parsed_answer = parsed.choices[0].message.parsed;

const input = ["Hello", "there"];
found.embeddings = (await client.embeddings.create({ model: "reads", input })).data.map((one) => Array.from(one.embedding));
found.embeddings_float =
  (await client.embeddings.create({ model: "reads", input, encoding_format: "float" })).data.map((one) => one.embedding);

const response = { model: "chat", instructions: "Be brief.", input: "Hello", temperature: 0, max_output_tokens: 20 };
found.response = (await client.responses.create(response)).output_text;
const events = client.responses.stream(response);
found.response_deltas = "";
events.on("response.output_text.delta", (event) => { found.response_deltas += event.delta; });
const finalResponse = await events.finalResponse();
found.response_helper = [finalResponse.status, finalResponse.output_text];

found.errors = [
  await errorOf(client.chat.completions.create({ ...chat, logit_bias: { 999999: 1 } })),
  await errorOf(client.chat.completions.create({ ...chat, model: "nobody" })),
  await errorOf(client.chat.completions.create({ ...chat, stream: true, tools: [{ type: "function", function: { name: "f" } }] })),
];

const langchain = { apiKey: "none", configuration: { baseURL: address + "/v1" }, maxRetries: 0, temperature: 0 };
const talk = new ChatOpenAI({ ...langchain, model: "chat", maxTokens: 20 });
const pairs = [["system", "Be brief."], ["human", "Hello"]];
const reply = await talk.invoke(pairs);
found.langchain = [reply.content, reply.response_metadata.finish_reason, reply.usage_metadata.output_tokens];
found.langchain_streamed = (await listOf(await talk.stream(pairs))).map((chunk) => chunk.content).join("");
found.langchain_batch = (await talk.batch([pairs, "Hello"])).map((one) => one.content);
found.langchain_answer = await new ChatOpenAI({ ...langchain, model: "chat", maxTokens: 100 })
  .withStructuredOutput(Answer, { method: "jsonSchema" }).invoke(pairs);
const responding = new ChatOpenAI({ ...langchain, model: "chat", maxTokens: 20, useResponsesApi: true });
found.langchain_response = (await responding.invoke(pairs)).text;
found.langchain_response_streamed = (await listOf(await responding.stream(pairs))).map((chunk) => chunk.text).join("");
found.langchain_completion = await new CompletionOpenAI({ ...langchain, model: "text", maxTokens: 20 }).invoke("Hello");
const embedder = new OpenAIEmbeddings({ ...langchain, model: "reads" });
found.langchain_embeddings = await embedder.embedDocuments(input);
found.langchain_query = await embedder.embedQuery(input[0]);

// The stream in single bytes.
const raw = await fetch(address + "/v1/chat/completions", {
  method: "POST", headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ ...chat, stream: true, stream_options: { include_usage: true } }),
});
const bytes = new Uint8Array(await raw.arrayBuffer());
const decoder = new TextDecoder();
found.parsed = [];
found.parse_errors = [];
const parser = createParser({
  onEvent: (event) => found.parsed.push(event), onError: (error) => found.parse_errors.push(String(error)),
  onRetry: (retry) => found.parse_errors.push(`retry ${retry}`), onComment: (comment) => found.parse_errors.push(comment),
});
for (const byte of bytes) parser.feed(decoder.decode(new Uint8Array([byte]), { stream: true }));

// A server whose requests may take a second: its streams end with an error.
if (process.argv[3]) {
  const brief = new OpenAI({ baseURL: process.argv[3] + "/v1", apiKey: "none", maxRetries: 0 });
  const endless = { ...chat, max_tokens: 1000000, stream: true };
  found.late = [
    await errorOf(listOf(await brief.chat.completions.create(endless))),
    await errorOf(listOf(await brief.completions.create({ model: "chat", prompt: "a", max_tokens: 1000000, stream: true }))),
    await errorOf(listOf(await brief.responses.create({ model: "chat", input: "a", max_output_tokens: 1000000, stream: true }))),
    await errorOf(brief.chat.completions.create({ ...endless, stream: false })),
  ];
}
console.log(JSON.stringify(found));
