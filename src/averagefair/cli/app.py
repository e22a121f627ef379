"""The application: all commands, and how they warn and fail."""

from __future__ import annotations

import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from averagefair.cli.audit import audit
from averagefair.cli.compare import compare
from averagefair.cli.console import BAD_INPUT, FAILED, STOPPED, complain, listen, say, silence
from averagefair.cli.demo import demo
from averagefair.cli.drift import drift
from averagefair.cli.evidence import evidence
from averagefair.cli.export import export
from averagefair.cli.extend import extend
from averagefair.cli.fit import fit
from averagefair.cli.frontier import frontier
from averagefair.cli.predict import predict
from averagefair.cli.theory import theory
from averagefair.errors import InputError


class Guarded:
    """A mixin for typer's classes: bad input ends in one line and exit code 2."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read the options before the command."""
        try:
            return super().make_context(*args, **more)  # type: ignore[misc]
        except Exception as error:
            _complain_of_usage(error)
            raise

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


def _complain_of_usage(error: Exception) -> None:
    """Report an option or command that typer cannot read, in the style of all other errors."""
    message = getattr(error, "format_message", None)
    if message is None or type(error).__name__ == "NoArgsIsHelpError":
        return
    text, context = message().replace("Value error, ", ""), getattr(error, "ctx", None)
    if context:
        text += f"{'' if text.endswith(('.', '?')) else '.'} See: {context.command_path} --help"
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
    app.command()(command)
