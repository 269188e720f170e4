"""Stand in for SGLang's kernels, which are published for GPUs only, so that SGLang starts on a CPU.

A processor without AMX uses PyTorch instead of them, but their names are imported all the same. Whoever calls one gets
an error that names it. scripts/sglang.sh installs this file as the package sgl_kernel.
"""

import importlib.abc
import importlib.machinery
import sys

__path__ = []
ABSENT = "sgl_kernel.scalar_type"  # SGLang has this one itself, for when the import fails


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_, **__):
        raise NotImplementedError(f"sgl_kernel.{name} is for GPUs")

    return missing


class _Submodules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.startswith("sgl_kernel.") and name != ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module):
        module.__getattr__ = __getattr__


sys.meta_path.insert(0, _Submodules())
