"""Failures, as codes of the wire profile."""

MESSAGE_LIMIT = 500  # Characters of a message on the wire.


class Problem(Exception):
  """An error frame: a code, a message for people (at most 500 characters), and further fields of its data."""

  def __init__(self, code: str, message: str, **more):
    super().__init__(message[:MESSAGE_LIMIT])
    self.code = code
    self.more = more

  def data(self) -> dict:
    return {'code': self.code, 'message': str(self), **self.more}


class BadAction(Exception):
  """A mistake of the agent. The action is not executed, but its step counts."""


def as_problem(error: BaseException, otherwise: str = 'EXECUTION_ERROR') -> Problem:
  """Returns any exception as a Problem. Other exceptions get the code `otherwise`."""
  if isinstance(error, Problem):
    return error
  return Problem(otherwise, f'{type(error).__name__}: {error}')
