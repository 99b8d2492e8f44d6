"""`gpudiy completion`: completion scripts for shells, for verbs, options and their values."""

from __future__ import annotations

import shlex
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from gpudiy.cli import SUBVERBS, VERBS, verb_parser

EPILOG = """\
examples:
  gpudiy completion bash > ~/.local/share/bash-completion/completions/gpudiy
  source <(gpudiy completion zsh)
  gpudiy completion fish > ~/.config/fish/completions/gpudiy.fish"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(arguments: Namespace) -> int:
    commands = list(list_commands())
    print(_fish(commands) if arguments.shell == "fish" else _bash(commands, zsh=arguments.shell == "zsh"))
    return 0


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a verb: its spellings, and its possible values if they are fixed."""

    names: tuple[str, ...]
    words: tuple[str, ...]
    takes_value: bool
    what: str


@dataclass(frozen=True, slots=True)
class Command:
    """A verb, or a verb and its subverb."""

    name: str
    what: str
    options: tuple[Option, ...]


def list_commands() -> Iterator[Command]:
    """All verbs and subverbs with their options."""
    for verb, what in VERBS.items():
        yield Command(verb, what, _options(verb_parser(verb, what)))
    for (verb, word), what in SUBVERBS.items():
        yield Command(f"{verb} {word}", what, _options(verb_parser(f"{verb} {word}", what)))


def _options(parser: ArgumentParser) -> tuple[Option, ...]:
    return tuple(_option(action) for action in parser._actions if action.option_strings)


def _option(action: Action) -> Option:
    words = tuple(str(choice) for choice in action.choices or ())
    return Option(tuple(action.option_strings), words, action.nargs != 0, (action.help or "").split(" (default")[0])


def _subverbs(verb: str) -> list[str]:
    return [word for owner, word in SUBVERBS if owner == verb]


def _bash(commands: list[Command], zsh: bool) -> str:
    lines = ["autoload -U +X bashcompinit && bashcompinit"] if zsh else []
    lines += [
        "_gpudiy() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
        '  local verb="${COMP_WORDS[1]}" command="${COMP_WORDS[1]}" words=""',
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    COMPREPLY=($(compgen -W "{" ".join(VERBS)} --help --version" -- "$current")); return',
        "  fi",
        '  case "$verb ${COMP_WORDS[2]}" in',
        *(f'    "{verb} {word}") command="{verb} {word}" ;;' for verb, word in SUBVERBS),
        "  esac",
        '  case "$command $previous" in',
    ]
    for command in commands:
        for option in command.options:
            if option.words:
                patterns = "|".join(f'"{command.name} {name}"' for name in option.names)
                words = " ".join(option.words)
                lines.append(f'    {patterns}) COMPREPLY=($(compgen -W "{words}" -- "$current")); return ;;')
    lines += ["  esac", '  case "$command" in']
    for command in commands:
        names = " ".join(name for option in command.options for name in option.names)
        lines.append(f'    "{command.name}") words="{names}" ;;')
    lines += ["  esac", '  if [ "$COMP_CWORD" -eq 2 ]; then', '    case "$verb" in']
    for verb in dict.fromkeys(owner for owner, _ in SUBVERBS):
        lines.append(f'      {verb}) words="$words {" ".join(_subverbs(verb))}" ;;')
    lines += [
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        '  case "$current" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$current")) ;; esac',
        "}",
        "complete -o filenames -F _gpudiy gpudiy",
    ]
    return "\n".join(lines)


def _fish(commands: list[Command]) -> str:
    lines = []
    for command in commands:
        verb, _, word = command.name.partition(" ")
        if word:
            seen = f"__fish_seen_subcommand_from {verb}; and __fish_seen_subcommand_from {word}"
            offer = (
                f"__fish_seen_subcommand_from {verb}; and not __fish_seen_subcommand_from {' '.join(_subverbs(verb))}"
            )
        else:
            seen, offer = f"__fish_seen_subcommand_from {verb}", "__fish_use_subcommand"
        name, what = word or verb, shlex.quote(command.what)
        lines.append(f"complete -c gpudiy -n {shlex.quote(offer)} -a {name} -d {what}")
        lines += [f"complete -c gpudiy -n {shlex.quote(seen)} {_fish_option(option)}" for option in command.options]
    return "\n".join(lines)


def _fish_option(option: Option) -> str:
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.words:
        parts.append(f"-x -a {shlex.quote(' '.join(option.words))}")
    elif option.takes_value:
        parts.append("-r")
    return f"{' '.join(parts)} -d {shlex.quote(option.what.replace('%', ''))}"
