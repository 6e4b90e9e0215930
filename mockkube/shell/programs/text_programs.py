"""Programs that read text: `wc`, `head`, `tail`, `sort`, `cut`, `tr`, `grep`, `awk` and `hexdump`, as far as plain."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import check_length
from mockkube.shell.programs.file_programs import read_files, split_options
from mockkube.shell.scripts import builtins
from mockkube.shell.scripts.expansion import require_known
from mockkube.shell.scripts.shell import Program, Shell

_SPECIAL: Final = re.compile(r"[\\^$*+?()\[\]{}|]")
_AWK_PRINT: Final = re.compile(r"\{\s*print(?:\s+(.*?))?\s*;?\s*\}$")
_AWK_ITEM: Final = re.compile(r"\s*(?:\$(NF|\d+)|\"((?:[^\"\\]|\\[nt\"\\])*)\"|(NR|NF))\s*(,?)")
_AWK_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}
_LINES: Final = 10
_DUMP_WIDTH: Final = 16


def _run_wc(shell: Shell, words: Sequence[str]) -> int:
    options, paths = split_options(words, "lwc")
    code = 0
    for path, text in read_files(shell, "wc", paths):
        if text is None:
            code = 1
            continue
        known = require_known(text)
        counts = {"l": known.count("\n"), "w": len(known.split()), "c": len(known.encode(errors="surrogateescape"))}
        shown = [str(counts[letter]) for letter in "lwc" if not options or letter in options]
        shell.print(f"{' '.join((*shown, *([path] if paths else [])))}\n")
    return code


def _read_lines(shell: Shell, name: str, paths: Sequence[str]) -> tuple[list[str], int]:
    """Return the lines of all files with their line ends, and 1 if one of them cannot be read."""
    lines, code = list[str](), 0
    for _, text in read_files(shell, name, paths):
        code = max(code, int(text is None))
        lines += require_known(text or "").splitlines(keepends=True)
    return lines, code


def _count_option(words: Sequence[str]) -> tuple[int, list[str]]:
    """Return the number of lines that `-n N` or `-N` asks for, and the other words."""
    rest, count = list(words), _LINES
    if rest and re.fullmatch(r"-\d+", rest[0]):
        count = int(rest.pop(0)[1:])
    elif len(rest) > 1 and rest[0] == "-n" and rest[1].isdigit():
        count = int(rest[1])
        del rest[:2]
    if any(word.startswith("-") and word != "-" for word in rest):
        raise Unsupported
    return count, rest


def _run_head(shell: Shell, words: Sequence[str]) -> int:
    count, paths = _count_option(words)
    lines, code = _read_lines(shell, "head", paths)
    shell.print("".join(lines[:count]))
    return code


def run_tail(shell: Shell, words: Sequence[str]) -> int:
    """Print the last lines."""
    count, paths = _count_option(words)
    lines, code = _read_lines(shell, "tail", paths)
    shell.print("".join(lines[max(0, len(lines) - count) :]))
    return code


def _run_sort(shell: Shell, words: Sequence[str]) -> int:
    options, paths = split_options(words, "ru")
    lines, code = _read_lines(shell, "sort", paths)
    texts = sorted((line.rstrip("\n") for line in lines), reverse="r" in options)
    shown = dict.fromkeys(texts) if "u" in options else texts
    shell.print("".join(f"{text}\n" for text in shown))
    return code


def _run_cut(shell: Shell, words: Sequence[str]) -> int:
    """Run `cut -d X -f N`."""
    rest, delimiter, field = list(words), "\t", 0
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        option, value = rest[0][:2], rest.pop(0)[2:]
        value = value or (rest.pop(0) if rest else "")
        if option == "-d" and len(value) == 1:
            delimiter = value
        elif option == "-f" and value.isdigit() and int(value):
            field = int(value)
        else:
            raise Unsupported
    if not field:
        raise Unsupported
    lines, code = _read_lines(shell, "cut", rest)
    for line in lines:
        fields = line.rstrip("\n").split(delimiter)
        # A line without the delimiter is printed whole.
        shown = fields[0] if len(fields) == 1 else fields[field - 1] if field <= len(fields) else ""
        shell.print(f"{shown}\n")
    return code


def _run_grep(shell: Shell, words: Sequence[str]) -> int:
    """Search files or standard input for a simple pattern: `grep -q text`."""
    options, rest = split_options(words, "qFvciE")
    if not rest or (len(rest) == 1 and shell.stdin is None and shell.machine.input is None):
        raise Unsupported
    # Of several files, every line would begin with a name.
    if len(rest) > 2 and "q" not in options:
        raise Unsupported
    pattern = re.compile(_translate_pattern(rest[0], "F" in options), re.IGNORECASE if "i" in options else 0)
    lines, code = _read_lines(shell, "grep", rest[1:])
    texts = [line.rstrip("\n") for line in lines]
    found = [one for one in texts if (pattern.search(one) is not None) != ("v" in options)]
    if "c" in options:
        shell.print(f"{len(found)}\n")
    elif "q" not in options:
        shell.print("".join(f"{one}\n" for one in found))
    return 2 if code else int(not found)


def _translate_pattern(text: str, is_plain: bool) -> str:
    """Return a pattern for Python: texts with `.`, `^` and `$`; raise Unsupported for others."""
    if is_plain:
        return re.escape(text)
    begins, ends = text.startswith("^"), text.endswith("$")
    middle = text[int(begins) : len(text) - int(ends)]
    # With repetitions a search could take very long; with alternatives it depends on the dialect.
    if _SPECIAL.search(middle):
        raise Unsupported
    return f"{'^' * begins}{re.escape(middle).replace(re.escape('.'), '.')}{'$' * ends}"


def _run_awk(shell: Shell, words: Sequence[str]) -> int:
    """Run an `awk` program that only prints: `{print $1, $NF}`."""
    rest, separator = list(words), None
    if rest and rest[0].startswith("-F"):
        separator = rest.pop(0)[2:] or (rest.pop(0) if rest else "")
    program = _AWK_PRINT.fullmatch(require_known(rest[0]).strip()) if rest else None
    if program is None or (separator is not None and len(separator) != 1):
        raise Unsupported
    items = _parse_awk_items(program[1] or "$0")
    lines, code = _read_lines(shell, "awk", rest[1:])
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\n")
        fields = text.split(separator) if separator not in (None, " ") else text.split()
        shell.print("".join(_awk_value(item, text, fields, number) for item in items) + "\n")
    return code


def _parse_awk_items(text: str) -> list[str]:
    """Return what is printed: fields, variables, and texts behind a double quote."""
    items, at = list[str](), 0
    while at < len(text):
        found = _AWK_ITEM.match(text, at)
        if found is None:
            raise Unsupported
        field, literal, variable, comma = found.groups()
        items.append(f"${field}" if field else variable or f'"{literal}')
        if comma:
            items.append('" ')
        at = found.end()
    return items


def _awk_value(item: str, line: str, fields: Sequence[str], number: int) -> str:
    if item.startswith('"'):
        return re.sub(r"\\[nt\"\\]", lambda found: _AWK_ESCAPES[found[0]], item[1:])
    if item in ("NR", "NF"):
        return str(number if item == "NR" else len(fields))
    index = len(fields) if item == "$NF" else int(item[1:])
    if index == 0:
        return line
    return fields[index - 1] if index <= len(fields) else ""


def _run_hexdump(shell: Shell, words: Sequence[str]) -> int:
    """Run `hexdump -C`."""
    options, paths = split_options(words, "C")
    if options != "C":
        raise Unsupported
    data, code = b"", 0
    for _, text in read_files(shell, "hexdump", paths):
        code = max(code, int(text is None))
        data += require_known(text or "").encode(errors="surrogateescape")
    lines = []
    for at in range(0, len(data), _DUMP_WIDTH):
        part = data[at : at + _DUMP_WIDTH]
        left, right = part[:8].hex(" "), part[8:].hex(" ")
        shown = "".join(chr(one) if 32 <= one < 127 else "." for one in part)
        lines.append(f"{at:08x}  {left:23}  {right:23}  |{shown}|\n")
    shell.print(check_length("".join(lines)) + (f"{len(data):08x}\n" if data else ""))
    return code


def _run_tr(shell: Shell, words: Sequence[str]) -> int:
    """Run `tr -d X` or `tr X Y` with single characters."""
    options, rest = split_options(words, "d")
    signs = [{"\\n": "\n", "\\t": "\t"}.get(one, one) for one in rest]
    if any(len(one) != 1 for one in signs) or len(signs) != (1 if options else 2):
        raise Unsupported
    shell.print(require_known(builtins.read_all(shell)).replace(signs[0], "" if options else signs[1]))
    return 0


TEXT_PROGRAMS: Final[Mapping[str, Program]] = {
    "awk": _run_awk,
    "cut": _run_cut,
    "grep": _run_grep,
    "head": _run_head,
    "hexdump": _run_hexdump,
    "sort": _run_sort,
    "tr": _run_tr,
    "wc": _run_wc,
}
