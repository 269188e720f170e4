"""Asks an endpoint with OpenAI's package for Python. Reads where and what from standard input; prints what came."""

import json
import sys

import openai

ask = json.load(sys.stdin)
client = openai.OpenAI(base_url=ask["url"], api_key=ask["key"], max_retries=0)
messages = [{"role": "system", "content": "ignored"}, {"role": "user", "content": ask["prompt"]}]
chat = client.chat.completions


def create(**more):
    return chat.create(**{"model": ask["model"], "messages": messages, "seed": ask["seed"], **more})


def refusal(call):
    try:
        call()
    except openai.APIStatusError as e:
        return {"status": e.status_code, "code": e.code, "param": e.param, "type": e.type, "message": e.body["message"]}
    return None


def usage(u):
    return [u.prompt_tokens, u.completion_tokens, u.total_tokens]


plain = create()
stopped = create(stop=["Action:"], max_completion_tokens=4096)
raw = chat.with_raw_response.create(
    model=ask["model"], messages=messages, seed=ask["seed"], logprobs=True, extra_body={"foo": {"bar": 1}}
)

streamed = {"content": "", "roles": [], "finish": [], "usage": None}
for chunk in create(stream=True, stream_options={"include_usage": True}):
    for choice in chunk.choices:
        streamed["content"] += choice.delta.content or ""
        if choice.delta.role:
            streamed["roles"].append(choice.delta.role)
        if choice.finish_reason:
            streamed["finish"].append(choice.finish_reason)
    if chunk.usage:
        streamed["usage"] = usage(chunk.usage)

json.dump(
    {
        "list": [m.id for m in client.models.list()],
        "retrieved": client.models.retrieve(ask["model"]).id,
        "plain": {
            "content": plain.choices[0].message.content,
            "roles": [plain.choices[0].message.role],
            "finish": [plain.choices[0].finish_reason],
            "usage": usage(plain.usage),
        },
        "agents": [[u["prompt_tokens"], u["completion_tokens"], u["total_tokens"]] for u in plain.collabui["usage"]],
        "streamed": streamed,
        "stopped": stopped.choices[0].message.content,
        "tolerated": raw.parse().choices[0].message.content,
        "ignored": raw.headers["Collabui-Ignored"],
        "refused": {
            "model": refusal(lambda: client.models.retrieve("gpt-4")),
            "other model": refusal(lambda: create(model="gpt-4")),
            "n": refusal(lambda: create(n=2)),
            "n of a stream": refusal(lambda: create(n=2, stream=True)),
            "tool": refusal(lambda: create(tool_choice="required", tools=[])),
            "message": refusal(lambda: create(messages=[{"role": "user", "content": 7}])),
            "key": refusal(lambda: client.with_options(api_key="wrong").models.list()),
        },
    },
    sys.stdout,
)
