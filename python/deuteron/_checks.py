"""A text compared with lines of checks, in the notation of LLVM's FileCheck.

| line | holds if |
|---|---|
| ``CHECK: p`` | ``p`` is found behind what was found before |
| ``CHECK-NEXT: p``, ``CHECK-SAME: p`` | it is found on the next line, on the same line |
| ``CHECK-EMPTY:`` | the next line is empty |
| ``CHECK-NOT: p`` | it is not found between what the checks around it find |
| ``CHECK-DAG: p`` | it is found; neighbours of this kind may be found in any order |
| ``CHECK-COUNT-3: p`` | it is found three times, one behind the other |
| ``CHECK-LABEL: p`` | it is found; checks between two of these look only between what the two find |

A pattern is literal text, but for ``{{regular expression}}``, ``[[NAME:regular expression]]``, which names what it finds, ``[[NAME]]``, which
is what was found under that name, and ``[[#NAME:]]``, ``[[#NAME + 1]]`` for decimal numbers. Blanks stand for any number of
blanks, as long as there is one. ``CHECK{LITERAL}:`` takes all of a pattern as it is. Left out: other formats of numbers and options of the
command.
"""

import re
from dataclasses import dataclass

_DIRECTIVE = re.compile(r"(?<![\w-])CHECK(?:-(NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?(\{LITERAL\})?:")
_PIECE = re.compile(r"\{\{(?P<regex>.*?)\}\}(?!\})|\[\[#(?P<number>[^\]]*)\]\]|\[\[(?P<name>\$?[A-Za-z_]\w*)(?P<define>:)?")
_NUMBER = re.compile(r"\s*(?:%u\s*,)?\s*(?:(?P<define>\$?[A-Za-z_]\w*)\s*:)?\s*(?P<use>\$?[A-Za-z_]\w*)?\s*"
                     r"(?:(?P<sign>[+-])\s*(?P<by>\d+))?\s*$")


class CheckError(Exception):
    """A check that does not hold, or that cannot be read."""


@dataclass
class _Check:
    """A line of checks.

    Attributes:
        kind: what stands behind ``CHECK-``, an empty text for ``CHECK``.
        pattern: its text.
        literal: whether the pattern has no special parts.
        line: the whole line, as errors show it.
        column: where in it the pattern begins.
    """

    kind: str
    pattern: str
    literal: bool
    line: str
    column: int

    def fail(self, text, input, position):
        """Raises, with the line and what was searched."""
        name = f"CHECK-{self.kind}" if self.kind else "CHECK"
        number = input.count("\n", 0, position) + 1
        shown = "\n".join(input[input.rfind("\n", 0, position) + 1:].split("\n")[:50])
        raise CheckError(f"error: {name}: {text}\n{self.line}\n{' ' * self.column}^\n"
                         f"note: scanning from line {number}:\n{shown}")


def _canonical(text):
    """With one blank in place of several."""
    return re.sub(r"[ \t]+", " ", text.replace("\r\n", "\n"))


def _parse(template):
    checks = []
    for line in _canonical(template).split("\n"):
        found = _DIRECTIVE.search(line)
        if found is None:
            continue
        rest = line[found.end():]
        column = found.end() + len(rest) - len(rest.lstrip())
        checks.append(_Check(found.group(1) or "", rest.strip(), found.group(2) is not None, line, column))
    if not checks:
        raise CheckError("error: no check strings found with prefix 'CHECK:'")
    return checks


class _Pattern:
    """A regular expression, and which of its groups name what is found."""

    def __init__(self, check, values):
        self._values = values
        self._check = check
        self._groups = {}
        self._numbers = set()
        source = re.escape(check.pattern) if check.literal else self._source(check.pattern)
        try:
            self.regex = re.compile(source, re.MULTILINE)
        except re.error as error:
            raise CheckError(f"error: invalid regular expression: {error}\n{check.line}") from None

    def _source(self, text):
        parts, position = [], 0
        while (found := _PIECE.search(text, position)) is not None:
            parts.append(re.escape(text[position:found.start()]))
            position = found.end()
            if found["regex"] is not None:
                parts.append(f"(?:{_python(found['regex'])})")
            elif found["number"] is not None:
                parts.append(self._numeric(found["number"]))
            elif found["define"] is None:
                if not text.startswith("]]", position):
                    raise CheckError(f"error: `[[{found['name']}` is not closed by `]]`\n{self._check.line}")
                position += 2
                parts.append(self._value(found["name"]))
            else:
                end = _closing(text, position)
                if end is None:
                    raise CheckError(f"error: `[[{found['name']}:` is not closed by `]]`\n{self._check.line}")
                parts.append(self._group(found["name"], _python(text[position:end])))
                position = end + 2
        return "".join([*parts, re.escape(text[position:])])

    def _group(self, name, regex):
        group = f"v{len(self._groups)}"
        self._groups[group] = name
        return f"(?P<{group}>{regex})"

    def _value(self, name):
        for group, known in self._groups.items():
            if known == name:
                return f"(?P={group})"
        if name not in self._values:
            raise CheckError(f"error: undefined variable: {name}\n{self._check.line}")
        return re.escape(str(self._values[name]))

    def _numeric(self, text):
        found = _NUMBER.match(text)
        if found is None:
            raise CheckError(f"error: `[[#{text}]]` is not supported: decimal numbers with + and - are\n{self._check.line}")
        if found["use"] is None:
            regex = r"\d+"
        else:
            if found["use"] not in self._values:
                raise CheckError(f"error: undefined variable: {found['use']}\n{self._check.line}")
            by = int(found["by"] or 0) * (-1 if found["sign"] == "-" else 1)
            regex = re.escape(str(int(self._values[found["use"]]) + by))
        if found["define"] is None:
            return regex
        self._numbers.add(found["define"])
        return self._group(found["define"], regex)

    def search(self, input, begin, end):
        """``(begin, end)`` of the first place, and takes over what it names; None if there is none."""
        found = self.regex.search(input, begin, end)
        if found is None:
            return None
        for group, name in self._groups.items():
            value = found[group]
            self._values[name] = int(value) if name in self._numbers else value
        return found.span()


def _python(regex):
    """A regular expression of POSIX in the notation of Python's."""
    for name, letters in (("alpha", "A-Za-z"), ("digit", "0-9"), ("alnum", "A-Za-z0-9"), ("space", r"\s"),
                          ("xdigit", "0-9A-Fa-f"), ("upper", "A-Z"), ("lower", "a-z")):
        regex = regex.replace(f"[:{name}:]", letters)
    return regex


def _closing(text, position):
    """Where the ``]]`` stands that ends a definition; brackets inside a regular expression are left over."""
    depth, at = 0, position
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "[":
            depth += 1
        elif text[at] == "]":
            if depth == 0:
                return at if text.startswith("]]", at) else None
            depth -= 1
        at += 1
    return None


class _Block:
    """The part of the text between two labels, and how far the checks have come in it."""

    def __init__(self, input, begin, end, values):
        self.input, self.position, self.end, self.values = input, begin, end, values
        self._nots = []
        self._group = None

    def _find(self, check, begin):
        return _Pattern(check, self.values).search(self.input, begin, self.end)

    def _advance(self, begin, end):
        """What was found begins and ends there: nothing that must not be stands before it."""
        self._refuse(self.position, begin)
        self.position = end

    def _refuse(self, begin, end):
        for check in self._nots:
            found = _Pattern(check, self.values).search(self.input, begin, end)
            if found is not None:
                check.fail("excluded string found in input", self.input, found[0])
        self._nots.clear()

    def _required(self, check, begin):
        found = self._find(check, begin)
        if found is None:
            check.fail("expected string not found in input", self.input, begin)
        return found

    def run(self, check):
        """Does one check."""
        if check.kind != "DAG":
            self._leave_group()
        if check.kind == "NOT":
            self._nots.append(check)
        elif check.kind == "DAG":
            self._any_order(check)
        elif check.kind == "EMPTY":
            self._empty(check)
        else:
            count = int(check.kind[6:]) if check.kind.startswith("COUNT-") else 1
            for _ in range(count):
                begin, end = self._required(check, self.position)
                self._on_line(check, begin)
                self._advance(begin, end)

    def _on_line(self, check, begin):
        lines = self.input.count("\n", self.position, begin)
        if check.kind == "NEXT" and lines != 1:
            where = "on the same line as" if lines == 0 else "not on the line after"
            check.fail(f"is {where} the previous match", self.input, self.position)
        if check.kind == "SAME" and lines != 0:
            check.fail("is not on the same line as the previous match", self.input, self.position)

    def _empty(self, check):
        line = self.input.find("\n", self.position, self.end)
        if line < 0 or not self.input.startswith("\n", line + 1):
            check.fail("the next line is not empty", self.input, self.position)
        self._advance(line, line + 1)

    def _any_order(self, check):
        if self._group is None:
            self._group = []
        begin = self.position
        while True:
            found = self._required(check, begin)
            taken = next((span for span in self._group if span[0] < found[1] and found[0] < span[1]), None)
            if taken is None:
                break
            begin = taken[1]
        self._group.append(found)

    def _leave_group(self):
        if self._group:
            group, self._group = self._group, None
            self._advance(min(span[0] for span in group), max(span[1] for span in group))

    def leave(self):
        """The checks of this part have ended."""
        self._leave_group()
        self._refuse(self.position, self.end)


def _labels(checks, input):
    """Where each label is found, one behind the other."""
    spans, position = {}, 0
    for index, check in enumerate(checks):
        if check.kind != "LABEL":
            continue
        found = _Pattern(check, {}).search(input, position, len(input))
        if found is None:
            check.fail("expected string not found in input", input, position)
        spans[index] = found
        position = found[1]
    return spans


def check(input, template):
    """Raises `CheckError` unless `input` has what the checks in `template` say."""
    checks, input, values = _parse(template), _canonical(input), {}
    labels = _labels(checks, input)
    starts = [span[0] for span in labels.values()]
    block = _Block(input, 0, starts[0] if starts else len(input), values)
    for index, check in enumerate(checks):
        if index in labels:
            block.leave()
            starts.pop(0)
            block = _Block(input, labels[index][1], starts[0] if starts else len(input), values)
        else:
            block.run(check)
    block.leave()
