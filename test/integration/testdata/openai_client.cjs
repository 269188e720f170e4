// Asks an endpoint with OpenAI's package for JavaScript. Reads where and what from standard input; prints what came.
const fs = require("node:fs");
const OpenAI = require("openai");

const ask = JSON.parse(fs.readFileSync(0, "utf8"));
const options = { baseURL: ask.url, apiKey: ask.key, maxRetries: 0 };
const client = new OpenAI(options);
const messages = [{ role: "system", content: "ignored" }, { role: "user", content: ask.prompt }];
const create = (more) =>
  client.chat.completions.create({ model: ask.model, messages, seed: ask.seed, ...more });

async function refusal(call) {
  try {
    await call();
  } catch (e) {
    if (!(e instanceof OpenAI.APIError)) throw e;
    return { status: e.status, code: e.code, param: e.param, type: e.type, message: e.error.message };
  }
  return null;
}

const usage = (u) => [u.prompt_tokens, u.completion_tokens, u.total_tokens];

async function main() {
  const plain = await create({});
  const stopped = await create({ stop: ["Action:"], max_completion_tokens: 4096 });
  const raw = await create({ logprobs: true, foo: { bar: 1 } }).withResponse();

  const streamed = { content: "", roles: [], finish: [], usage: null };
  for await (const chunk of await create({ stream: true, stream_options: { include_usage: true } })) {
    for (const choice of chunk.choices) {
      streamed.content += choice.delta.content ?? "";
      if (choice.delta.role) streamed.roles.push(choice.delta.role);
      if (choice.finish_reason) streamed.finish.push(choice.finish_reason);
    }
    if (chunk.usage) streamed.usage = usage(chunk.usage);
  }

  const list = [];
  for await (const m of client.models.list()) list.push(m.id);

  const choice = plain.choices[0];
  console.log(JSON.stringify({
    list,
    retrieved: (await client.models.retrieve(ask.model)).id,
    plain: {
      content: choice.message.content,
      roles: [choice.message.role],
      finish: [choice.finish_reason],
      usage: usage(plain.usage),
    },
    agents: plain.collabui.usage.map(usage),
    streamed,
    stopped: stopped.choices[0].message.content,
    tolerated: raw.data.choices[0].message.content,
    ignored: raw.response.headers.get("Collabui-Ignored"),
    refused: {
      "model": await refusal(() => client.models.retrieve("gpt-4")),
      "other model": await refusal(() => create({ model: "gpt-4" })),
      "n": await refusal(() => create({ n: 2 })),
      "n of a stream": await refusal(() => create({ n: 2, stream: true })),
      "tool": await refusal(() => create({ tool_choice: "required", tools: [] })),
      "message": await refusal(() => create({ messages: [{ role: "user", content: 7 }] })),
      "key": await refusal(() => new OpenAI({ ...options, apiKey: "wrong" }).models.list()),
    },
  }));
}

main().catch((e) => { console.error(e); process.exit(1); });
