"""All commands together: how they fail, how they warn, how they answer."""

from __future__ import annotations

import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from averagefair.cli.audit import audit
from averagefair.cli.demo import demo
from averagefair.cli.extend import extend
from averagefair.cli.fit import fit
from averagefair.cli.frontier import frontier
from averagefair.cli.predict import predict
from averagefair.cli.reproduce import reproduce
from averagefair.cli.speech import BAD_INPUT, FAILED, STOPPED, complain, listen, say, silence
from averagefair.cli.theory import theory
from averagefair.errors import InputError
from averagefair.names import in_lines


class Commands(TyperGroup):
    """Commands whose bad input ends in one line and exit code 2."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read what stands before the command."""
        try:
            return super().make_context(*args, **more)
        except Exception as error:
            _as_plain_text(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command; warnings become lines on standard error."""
        with listen():
            try:
                return super().invoke(ctx)
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
                if hasattr(error, "exit_code"):  # typer's own way to end
                    _as_plain_text(error)
                    raise
                say(traceback.format_exc().rstrip("\n"), err=True)
                complain(f"something failed inside ({type(error).__name__}): {error}")
                raise typer.Exit(FAILED) from None


def _as_plain_text(error: Exception) -> None:
    """Let what typer says of options be plain text, whatever was given for them."""
    said = getattr(error, "message", None)
    if isinstance(said, str):
        error.message = in_lines(said)  # type: ignore[attr-defined]


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Average Individual Fairness: learn the classifiers of many tasks so that everybody's "
        "error rate is nearly the same, and audit anybody's decisions for it."
    ),
    epilog=(
        "Start with: averagefair demo. Exit codes: 0 done; 1 done, but what was asked for was not "
        "met; 2 bad input; 3 a failure inside; 4 ended early by a limit, Ctrl-C or SIGTERM, with "
        "the best answer so far saved."
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
    """Take what stands before the command."""


for command in (demo, fit, frontier, predict, extend, audit, reproduce, theory):
    app.command()(command)
