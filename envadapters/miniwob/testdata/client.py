"""Play short tasks by the official Python client and its WebDriver, and print what it took as JSON.

usage: client.py TASK... SCREENSHOTS BROWSERS EPISODES

EPISODES of all tasks in turns are played by BROWSERS processes, each of which plays in one browser at a time; the
client's environments stay with their task, so each process has one per task. SCREENSHOTS is 1 for the client's
default, or 0. Actions are the cheapest of the client: a click is a call of click(). The browsers' start and one
episode of each task are not counted.
"""

import json
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Manager

import gymnasium
import miniwob
from miniwob.action import ActionTypes


def solve(task, utterance, elements):
    """Return predicates of the elements to click or, with a text, to type into, in order."""
    quoted = re.findall(r'"(.*?)"', utterance)
    submit = (lambda e: e["id"] == "subbtn", None)
    if task == "click-test":
        return [submit]
    if task == "click-button":
        return [(lambda e: e["tag"] == "button" and e["text"] == quoted[0], None)]
    if task == "click-link":
        return [(lambda e: e["classes"] == "alink" and e["text"] == quoted[0], None)]
    if task == "click-tab":
        name = re.search(r"Tab #\d", utterance)[0]
        return [(lambda e: e["tag"] == "a" and e["text"] == name, None)]
    if task == "click-dialog":
        return [(lambda e: e["tag"] == "button", None)]
    if task == "focus-text":
        return [(lambda e: e["id"] == "tt", None)]
    if task == "enter-text":
        return [(lambda e: e["id"] == "tt", quoted[0]), submit]
    if task == "click-checkboxes":
        names = re.match(r"Select (.*) and click Submit", utterance)[1].split(", ")
        labels = {e["parent"] for e in elements if e["tag"] == "t" and e["text"] in names}
        return [(lambda e, ref=ref: e["ref"] == ref, None) for ref in sorted(labels)] + [submit]
    raise ValueError(task)


def play(env, task, seed):
    """Play an episode and return its steps and whether it was solved."""
    seen, _ = env.reset(seed=seed)
    reward, steps = 0, 0
    for wanted, text in solve(task, seen["utterance"], seen["dom_elements"]):
        ref = next(e["ref"] for e in seen["dom_elements"] if wanted(e))
        if text is None:
            action = env.unwrapped.create_action(ActionTypes.CLICK_ELEMENT, ref=ref)
        else:
            action = env.unwrapped.create_action(ActionTypes.FOCUS_ELEMENT_AND_TYPE_TEXT, ref=ref, text=text)
        seen, reward, done, _, _ = env.step(action)
        steps += 1
        if done:
            break

    return steps, reward > 0


def browser(tasks, screenshots, number, browsers, episodes, barrier):
    """Play the share of one browser."""
    gymnasium.register_envs(miniwob)
    envs = {task: gymnasium.make(f"miniwob/{task}-v1").unwrapped for task in tasks}
    for task, env in envs.items():
        env.set_record_screenshots(screenshots)
        play(env, task, 1000 + number)

    barrier.wait(timeout=120)
    start, steps, failed = time.time(), 0, 0
    for i in range(number, episodes, browsers):
        task = tasks[i % len(tasks)]
        n, solved = play(envs[task], task, i // len(tasks))
        steps += n
        failed += not solved

    end = time.time()
    for env in envs.values():
        env.close()

    return {"start": start, "end": end, "steps": steps, "failed": failed}


def main():
    *tasks, screenshots, browsers, episodes = sys.argv[1:]
    browsers, episodes = int(browsers), int(episodes)
    with Manager() as manager, ProcessPoolExecutor(browsers) as pool:
        barrier = manager.Barrier(browsers)
        each = [pool.submit(browser, tasks, screenshots == "1", i, browsers, episodes, barrier) for i in range(browsers)]
        got = [one.result() for one in each]

    json.dump(
        {
            "seconds": max(g["end"] for g in got) - min(g["start"] for g in got),
            "steps": sum(g["steps"] for g in got),
            "failed": sum(g["failed"] for g in got),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
