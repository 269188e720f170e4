"""Environments for collabui, written in Python and served over the wire profile collabui/1.

Write a class that derives from Environment, or register functions on an App. Then type

    python -m collabui_env check FILE      # play a task of every template and report what is wrong
    python -m collabui_env serve FILE      # serve it, to train on it
"""

from collabui_env import mobile, web
from collabui_env.actions import Action
from collabui_env.browser import chromium
from collabui_env.environment import App, Environment, InvalidAction, TaskError
from collabui_env.server import serve
from collabui_env.types import NO_ID, Element, Splits, Step, Task, Template, standard_splits

__all__ = [
    "NO_ID",
    "Action",
    "App",
    "Element",
    "Environment",
    "InvalidAction",
    "Splits",
    "Step",
    "Task",
    "TaskError",
    "Template",
    "chromium",
    "mobile",
    "serve",
    "standard_splits",
    "web",
]
