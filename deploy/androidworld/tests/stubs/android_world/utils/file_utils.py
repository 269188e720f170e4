"""Stub."""

from stub_phone import phone


def check_directory_exists(path: str, env) -> bool:
  del env
  return phone.has_directory(path)
