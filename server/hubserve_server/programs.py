"""What `hubserve` and `serve` do with their arguments. Help and what is wrong must cost no heavy
import."""

import re
import sys
from typing import NoReturn

import typer

from hubserve_engine.errors import StartError
from hubserve_server import command
from hubserve_server.command import Version

EXAMPLE = "serve unsloth/Qwen3.5-4B-GGUF:Q4_K_M"
HELP = {"help_option_names": ["-h", "--help"]}


def options(version: Version = False) -> None:
    """Options that stand before a command; their callbacks do the work."""


def invoke(app: typer.Typer, program: str) -> NoReturn:
    """Runs a command; whatever the user can mend is one line and exit code 2."""
    name = program.split()[0]
    try:
        code = app(prog_name=program, standalone_mode=False)
    except StartError as error:
        complain(name, error.message)
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        # Wrong arguments: the parser's own exception type has no name that is typer's to keep.
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message()
        if not message:  # It has shown its help instead.
            sys.exit(2)
        context = getattr(error, "ctx", None)
        complain(name, advise(message, context.command_path if context else program))
    sys.exit(code if isinstance(code, int) else 0)


def advise(message: str, called: str) -> str:
    """The parser's message, with the next step where it knows none; `called` is the command."""
    if called.endswith("serve"):
        if message.startswith("Missing argument"):
            return f"{message} Name a model, for example: {EXAMPLE}"
        if re.match("No such option: (-m|--model)( |$)", message):
            return f"The model is named without an option, for example: {EXAMPLE}"
    if message.startswith(("Missing ", "No such command")):
        return f"{message} See `{called} --help`."
    return message.replace("Value error, ", "")


def complain(program: str, message: str) -> NoReturn:
    print(f"{program}: {message}", file=sys.stderr)
    sys.exit(2)


def hubserve() -> NoReturn:
    """All commands."""
    from hubserve_server.bench.command import bench
    from hubserve_server.cache import cache
    from hubserve_server.eval.command import tools
    from hubserve_server.eval.schemas import schemas
    from hubserve_server.export.cached import exports
    from hubserve_server.export.command import export
    from hubserve_server.export.inspect import inspect
    from hubserve_server.export.push import push
    from hubserve_server.export.restore import restore

    app = typer.Typer(
        context_settings=HELP,
        help="An OpenAI-compatible inference server for your own machine.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(options)
    app.command("serve")(command.serve)
    app.command("cache")(cache)
    app.command("export")(export)
    app.command("exports")(exports)
    app.command("inspect")(inspect)
    app.command("restore")(restore)
    app.command("push")(push)
    # What stands after a model is for `serve`, whose options this parser does not know.
    beyond = {**HELP, "ignore_unknown_options": True}
    app.command("bench", context_settings=beyond)(bench)
    eval_ = typer.Typer(
        context_settings=HELP, help="Try what a server makes of a model.", no_args_is_help=True
    )
    eval_.command("tools", context_settings=beyond)(tools)
    eval_.command("schemas", context_settings=beyond)(schemas)
    app.add_typer(eval_, name="eval")
    invoke(app, "hubserve")


def serve(program: str) -> NoReturn:
    """The command `serve` alone, under this name."""
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command(context_settings=HELP)(command.serve)
    invoke(app, program)
