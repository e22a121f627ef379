"""The application: all commands, and how they warn and fail."""

from __future__ import annotations

import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from averagefair.cli.audit import GATES, audit
from averagefair.cli.compare import compare
from averagefair.cli.console import BAD_INPUT, FAILED, STOPPED, complain, listen, say, silence
from averagefair.cli.demo import demo
from averagefair.cli.drift import drift
from averagefair.cli.evidence import evidence
from averagefair.cli.export import export
from averagefair.cli.extend import extend
from averagefair.cli.fit import fit
from averagefair.cli.frontier import frontier
from averagefair.cli.log_input import PANEL
from averagefair.cli.options import (
    DATA,
    HELD_OUT,
    LEARNING,
    LIMITS,
    LONG,
    OUTPUT,
    PEOPLE,
    PROMISE,
    QUESTION,
)
from averagefair.cli.predict import predict
from averagefair.cli.theory import theory
from averagefair.cli.usage import usage_error
from averagefair.errors import InputError


class Reading:
    """A mixin for typer's classes: wrong usage ends in one line and exit code 2."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **more: Any) -> Any:
        """Read the options before the command."""
        try:
            return super().make_context(info_name, args, parent, **more)  # type: ignore[misc]
        except Exception as error:
            path = info_name if parent is None else f"{parent.command_path} {info_name}"
            _complain_of_usage(error, path)
            raise


class Guarded(Reading):
    """A mixin for typer's classes: bad input ends in one line and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; print its warnings on standard error."""
        with listen():
            try:
                return super().invoke(ctx)  # type: ignore[misc]
            except InputError as error:
                complain(str(error))
                raise typer.Exit(BAD_INPUT) from None
            except ModuleNotFoundError as error:
                complain(str(error))
                raise typer.Exit(BAD_INPUT) from None
            except KeyboardInterrupt as end:
                complain("stopped; nothing was written.")
                raise typer.Exit(getattr(end, "code", STOPPED)) from None
            except BrokenPipeError:
                silence()
                raise typer.Exit(0) from None
            except OSError as error:
                silence()
                if error.filename is None:
                    complain(f"standard output cannot be written: {error.strerror or error}.")
                else:
                    complain(f"{error.filename} cannot be used: {error.strerror}.")
                raise typer.Exit(BAD_INPUT) from None
            except Exception as error:
                if hasattr(error, "exit_code"):  # typer raises these to end a command
                    _complain_of_usage(error)
                    raise
                say(traceback.format_exc().rstrip("\n"), err=True)
                complain(f"internal error ({type(error).__name__}): {error}")
                raise typer.Exit(FAILED) from None


class Commands(Guarded, TyperGroup):
    """A program with several commands."""


class Command(Guarded, TyperCommand):
    """A program with one command."""


class Grouped(Reading, TyperCommand):
    """A command of the program; its help page has groups of options in a fixed order."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments first, then the options in the order of their groups."""
        return sorted(super().get_params(ctx), key=_place)


def _place(param: Any) -> int:
    """Return the place of an option on the help page; --help goes with the output."""
    if param.param_type_name == "argument":
        return -1
    if "--help" in param.opts:
        param.rich_help_panel = OUTPUT
    panel = getattr(param, "rich_help_panel", None)
    return GROUPS.index(panel) if panel in GROUPS else -1


GROUPS = (DATA, LONG, PANEL, PROMISE, HELD_OUT, PEOPLE, QUESTION, GATES, LEARNING, LIMITS, OUTPUT)
"""The groups of options, in the order of the help pages."""


def _complain_of_usage(error: Exception, command: str | None = None) -> None:
    """Report an option or command that typer cannot read, in the style of all other errors."""
    text = usage_error(error, command)
    if text is not None:
        complain(text)
        raise typer.Exit(BAD_INPUT) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Average Individual Fairness: learn classifiers for many tasks so that everybody's error "
        "rate is nearly the same, and audit any decisions for it."
    ),
    epilog=(
        "Start with: averagefair demo. Exit codes: 0 done; 1 done, but the request was not met; "
        "2 bad input; 3 internal error; 4 ended early by a limit, Ctrl-C or SIGTERM, with the "
        "best answer so far saved; 5 done, but an audit says neither that its request is met nor "
        "that it is not."
    ),
)


def _version(asked: bool) -> None:
    if asked:
        from averagefair import __version__

        typer.echo(f"averagefair {__version__}")
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Read the options before the command."""


for command in (
    demo,
    fit,
    frontier,
    predict,
    extend,
    export,
    audit,
    compare,
    drift,
    evidence,
    theory,
):
    app.command(cls=Grouped)(command)
