"""Plays one episode at a server of the profile collabui/1 with the published client, as the server says is right.

usage: play.py http://ADDRESS    It prints what it saw as JSON.
"""
import asyncio
import json
import sys

from openenv.core import GenericEnvClient


async def main() -> None:
    async with GenericEnvClient(base_url=sys.argv[1]) as env:
        state = await env.state()
        task = next(t for t in state["tasks"] if t["split"] == "train")
        plain = await env.reset(task=task["name"], split="train", seed=7)
        result = await env.reset(task=task["name"], split="train", seed=7, max_steps=task["max_steps"], right=True)
        steps = 0
        while not result.done:
            result = await env.step(result.observation["right"][0])
            steps += 1
        seen = {
            "profile": state["profile"],
            "asked": "right" in plain.observation,
            "steps": steps,
            "success": result.observation["success"],
            "reward": result.reward,
        }
        print(json.dumps(seen))


asyncio.run(main())
