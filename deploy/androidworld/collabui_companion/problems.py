"""What goes wrong, as codes of the wire profile."""

MESSAGE_LIMIT = 500  # characters of a message on the wire


class Problem(Exception):
  """An error frame: a code, a message for people (at most 500 characters), and further fields of its data."""

  def __init__(self, code: str, message: str, **more):
    super().__init__(message[:MESSAGE_LIMIT])
    self.code = code
    self.more = more

  def data(self) -> dict:
    return {'code': self.code, 'message': str(self), **self.more}


class BadAction(Exception):
  """The agent's fault: the action is not executed, its step counts."""


def as_problem(error: BaseException, otherwise: str = 'EXECUTION_ERROR') -> Problem:
  """Any exception as a Problem; what is not one yet gets the code `otherwise`."""
  if isinstance(error, Problem):
    return error
  return Problem(otherwise, f'{type(error).__name__}: {error}')
