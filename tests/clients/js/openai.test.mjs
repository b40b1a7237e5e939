// The OpenAI SDK for JavaScript against a server that runs: node --test, with BASE_URL and API_KEY.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";

const { BASE_URL, API_KEY, CONTEXT } = process.env;
const client = new OpenAI({ baseURL: BASE_URL, apiKey: API_KEY, maxRetries: 0, timeout: 60_000 });
const model = "default";
const messages = [{ role: "user", content: "Name three animals." }];
const sea = { logit_bias: { " sea": 100 } };

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

function joined(chunks, index = 0) {
  const choices = chunks.flatMap((chunk) => chunk.choices).filter((each) => each.index === index);
  return choices.map((each) => each.delta.content ?? "").join("");
}

test("a chat", async () => {
  const reply = await client.chat.completions.create({ model, messages, max_tokens: 6 });
  assert.equal(reply.object, "chat.completion");
  assert.equal(reply.choices[0].message.role, "assistant");
  assert.ok(reply.choices[0].message.content);
  assert.equal(reply.choices[0].finish_reason, "length");
  assert.equal(reply.usage.completion_tokens, 6);
});

test("a streamed chat with usage", async () => {
  const chunks = await all(
    await client.chat.completions.create({
      model,
      messages,
      max_tokens: 6,
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  assert.ok(joined(chunks));
  assert.equal(chunks.at(-2).choices[0].finish_reason, "length");
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.equal(chunks.at(-1).usage.completion_tokens, 6);
});

test("several choices, whole and streamed", async () => {
  const body = { model, messages, n: 3, seed: 1, temperature: 1.5, max_tokens: 10 };
  const reply = await client.chat.completions.create(body);
  const whole = reply.choices.map((choice) => choice.message.content);
  const chunks = await all(await client.chat.completions.create({ ...body, stream: true }));
  const streamed = [0, 1, 2].map((index) => joined(chunks, index));
  for (const texts of [whole, streamed]) {
    assert.equal(new Set(texts).size, 3);
    assert.ok(texts.every(Boolean));
  }
});

test("logprobs", async () => {
  const body = { model, messages, logprobs: true, top_logprobs: 2, max_tokens: 4 };
  const reply = await client.chat.completions.create(body);
  const tokens = reply.choices[0].logprobs.content;
  assert.equal(tokens.length, 4);
  assert.equal(tokens.map((each) => each.token).join(""), reply.choices[0].message.content);
  assert.ok(tokens.every((each) => each.logprob <= 0 && each.top_logprobs.length === 2));
  const chunks = await all(await client.chat.completions.create({ ...body, stream: true }));
  const streamed = chunks.flatMap((chunk) => chunk.choices[0]?.logprobs?.content ?? []);
  assert.equal(streamed.length, 4);
});

test("stop strings do not leak", async () => {
  const body = { model, prompt: "I love the", ...sea, stop: ["a s"], max_tokens: 9 };
  const reply = await client.completions.create(body);
  assert.equal(reply.choices[0].text, " se");
  assert.equal(reply.choices[0].finish_reason, "stop");
  const chunks = await all(await client.completions.create({ ...body, stream: true }));
  assert.equal(chunks.map((chunk) => chunk.choices[0].text).join(""), " se");
});

test("the stream helper", async () => {
  const deltas = [];
  const stream = client.chat.completions.stream({ model, messages, ...sea, stop: ["a s"] });
  stream.on("content", (delta) => deltas.push(delta));
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].message.content, " se");
  assert.equal(final.choices[0].finish_reason, "stop");
  assert.equal(deltas.join(""), " se");
});

test("leaving a stream", async () => {
  const stream = await client.chat.completions.create({
    model,
    messages,
    ignore_eos: true,
    stream: true,
  });
  for await (const chunk of stream) {
    if (chunk.choices[0].delta.content) break;
  }
  const reply = await client.chat.completions.create({ model, messages, max_tokens: 2 });
  assert.ok(reply.choices[0].message.content);
});

test("models", async () => {
  const ids = (await all(await client.models.list())).map((each) => each.id);
  assert.equal(ids.length, 1);
  assert.equal((await client.models.retrieve("acme/Sea.Tales-GGUF:small/sea-1.5.gguf")).id, ids[0]);
});

test("errors", async () => {
  const create = (body) => client.chat.completions.create({ model, messages, ...body });
  await assert.rejects(create({ model: "gpt-4o" }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "model_not_found");
    return true;
  });
  for (const stream of [false, true]) {
    await assert.rejects(create({ temperature: 9, stream }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.param, "temperature");
      assert.equal(error.type, "invalid_request_error");
      return true;
    });
    const long = [{ role: "user", content: "sea ".repeat(Number(CONTEXT) + 1) }];
    await assert.rejects(create({ messages: long, stream }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.code, "context_length_exceeded");
      return true;
    });
  }
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
  const tool_choice = { type: "function", function: { name: "g" } };
  await assert.rejects(create({ tools, tool_choice }), OpenAI.BadRequestError);
  const schema = { name: "animals", schema: { type: "object", not: { required: ["cat"] } } };
  const response_format = { type: "json_schema", json_schema: schema };
  await assert.rejects(create({ response_format }), OpenAI.BadRequestError);
  const stranger = new OpenAI({ baseURL: BASE_URL, apiKey: "guess", maxRetries: 0 });
  await assert.rejects(
    stranger.chat.completions.create({ model, messages }),
    OpenAI.AuthenticationError,
  );
});
