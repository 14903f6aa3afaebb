"""``trigpoint completion``: what a shell needs to complete the command's words."""

import argparse
import shlex
from collections.abc import Iterable, Iterator

from trigpoint._command.common import Commands

_EXAMPLES = """examples:
  eval "$(trigpoint completion bash)"     # in ~/.bashrc
  eval "$(trigpoint completion zsh)"      # in ~/.zshrc, after compinit
  trigpoint completion fish > ~/.config/fish/completions/trigpoint.fish"""

_FOR_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"

_BASH = """_trigpoint() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} found=
  if [ "$COMP_CWORD" -eq 1 ]; then
    found={commands}
  else
    case "${{COMP_WORDS[1]}} $before" in
{choices}
    *)
      case "$word" in -*)
        case "${{COMP_WORDS[1]}}" in
{options}
        esac
      esac
    esac
  fi
  COMPREPLY=()
  if [ -n "$found" ]; then
    COMPREPLY=($(compgen -W "$found" -- "$word"))
  fi
}}
complete -o default -F _trigpoint trigpoint
"""


def add(commands: Commands) -> None:
    """Add the subcommand; it completes those that were added before it."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes words in your shell",
        description="Print a script that completes commands, options and choices in your shell.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(run=run, parser=parser, parsers=commands.choices, log=False, debug=False)


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    if options.shell == "fish":
        print("\n".join(_fish(options.parsers)))
    else:
        compatible = (
            "autoload -U +X bashcompinit && bashcompinit\n" if options.shell == "zsh" else ""
        )
        print(compatible + _bash(options.parsers), end="")
    return 0


def _bash(parsers: dict[str, argparse.ArgumentParser]) -> str:
    choices, options = [], []
    for name, parser in parsers.items():
        words: list[str] = []
        for action in _options(parser):
            words += action.option_strings
            if action.choices is not None:
                places = "|".join(shlex.quote(f"{name} {word}") for word in action.option_strings)
                choices.append(f"    {places}) found={_quoted(action.choices)} ;;")
        options.append(f"        {name}) found={_quoted(words)} ;;")
    choices.append(f"    {shlex.quote('completion completion')}) found='bash zsh fish' ;;")
    return _BASH.format(
        commands=_quoted(parsers), choices="\n".join(choices), options="\n".join(options)
    )


def _fish(parsers: dict[str, argparse.ArgumentParser]) -> Iterator[str]:
    for name, parser in parsers.items():
        about = shlex.quote(parser.description or "")
        yield f"complete -c trigpoint -n __fish_use_subcommand -f -a {name} -d {about}"
        here = f"complete -c trigpoint -n '__fish_seen_subcommand_from {name}'"
        for action in _options(parser):
            names = [
                f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
                for word in action.option_strings
            ]
            values = "" if action.nargs == 0 else " -r"
            if action.choices is not None:
                values = f" -xa {_quoted(action.choices)}"
            about = shlex.quote((action.help or "").replace("%%", "%"))
            yield f"{here} {' '.join(names)}{values} -d {about}"
    yield "complete -c trigpoint -n '__fish_seen_subcommand_from completion' -xa 'bash zsh fish'"


def _options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    return (action for action in parser._actions if action.option_strings)


def _quoted(words: Iterable[object]) -> str:
    return shlex.quote(" ".join(map(str, words)))
