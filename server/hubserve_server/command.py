"""The command `serve`: what it takes, into frozen settings. Help must cost no heavy import."""

import gc
import os
from pathlib import Path
from typing import Annotated

import typer

from hubserve_engine.config import (
    CACHE_VARIABLE,
    EngineChoice,
    EngineConfig,
    FlashAttention,
    ModelConfig,
)
from hubserve_engine.types import CacheType, ReasoningFormat, ReasoningSwitch, ToolsPolicy
from hubserve_server import ahead
from hubserve_server.arguments import (
    aliases,
    api_keys,
    attention,
    drafts,
    hosts,
    layers,
    number,
    origins,
    size,
)
from hubserve_server.settings import KEY_VARIABLE, LogLevel, Settings

MODEL = ModelConfig(model="")
ENGINE = EngineConfig(model=MODEL)
SETTINGS = Settings()
MEBIBYTE = 1024 * 1024

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="owner/repo:file.gguf, owner/repo:Q4_K_M, owner/repo, or a path to a GGUF file, to a"
        " folder of them, or to the folder of a checkpoint, also with :Q4_K_M.",
        show_default=False,
    ),
]


def show_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        print(f"hubserve {metadata.version('hubserve')}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version",
        callback=show_version,
        is_eager=True,
        metavar="",
        show_default=False,
        help="Show the version.",
    ),
]


def serve(
    model: ModelArgument,
    engine: Annotated[
        EngineChoice,
        typer.Option(
            metavar="auto|llama.cpp|transformers",
            help="What runs the model; auto goes by its format.",
        ),
    ] = ENGINE.engine,
    context: Annotated[
        int,
        typer.Option(
            "--ctx-size",
            "-c",
            parser=number(0),
            metavar="N",
            help="Context in tokens; 0 chooses it.",
        ),
    ] = MODEL.context_length or 0,
    parallel: Annotated[
        int,
        typer.Option(
            "--parallel",
            "-np",
            parser=number(1, 256),
            metavar="N",
            help="Sequences at the same time.",
        ),
    ] = MODEL.parallel,
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            "-t",
            parser=number(0, 1024),
            metavar="N",
            help="CPU threads at most; 0 chooses them.",
        ),
    ] = MODEL.threads or 0,
    gpu_layers: Annotated[
        str,
        typer.Option("--gpu-layers", "-ngl", metavar="N|all|auto", help="Layers on the GPU."),
    ] = "auto",
    flash_attention: Annotated[
        FlashAttention, typer.Option("--flash-attn", "-fa", help="Flash attention.")
    ] = MODEL.flash_attention,
    draft_max: Annotated[
        str,
        typer.Option(
            metavar="N|auto",
            help="Tokens guessed in a step, from what the text repeats; 0 guesses none.",
        ),
    ] = "auto",
    cache_type_k: Annotated[
        CacheType, typer.Option("--cache-type-k", "-ctk", help="What keys are kept in.")
    ] = MODEL.cache_type_k,
    cache_type_v: Annotated[
        CacheType, typer.Option("--cache-type-v", "-ctv", help="What values are kept in.")
    ] = MODEL.cache_type_v,
    batch: Annotated[
        int,
        typer.Option(
            "--batch-size",
            "-b",
            parser=number(0, 1 << 16),
            metavar="N",
            help="Most tokens of a step; 0 chooses it.",
        ),
    ] = MODEL.batch or 0,
    micro_batch: Annotated[
        int,
        typer.Option(
            "--ubatch-size",
            "-ub",
            parser=number(0, 1 << 16),
            metavar="N",
            help="Most tokens computed at once; 0 chooses it.",
        ),
    ] = MODEL.micro_batch or 0,
    alias: Annotated[
        list[str] | None,
        typer.Option(
            "--alias", metavar="NAME", help="Another name for the model; may be repeated."
        ),
    ] = None,
    chat_template_file: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            readable=True,
            metavar="FILE",
            help="A Jinja file instead of the model's.",
        ),
    ] = MODEL.chat_template,
    reasoning: Annotated[
        ReasoningSwitch, typer.Option(help="Thinking, where a request does not say.")
    ] = MODEL.reasoning,
    reasoning_budget: Annotated[
        int,
        typer.Option(
            parser=number(-1),
            metavar="N",
            help="Tokens of thinking, where a request does not say; -1 is no limit.",
        ),
    ] = MODEL.reasoning_budget,
    reasoning_format: Annotated[
        ReasoningFormat,
        typer.Option(help="auto splits thinking from the answer, none leaves it in the text."),
    ] = MODEL.reasoning_format,
    tools: Annotated[
        ToolsPolicy,
        typer.Option(help="strict holds every call to the schema of its tool."),
    ] = MODEL.tools,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Name or address to listen on.")
    ] = SETTINGS.host,
    port: Annotated[
        int,
        typer.Option(
            parser=number(0, 65535), metavar="N", help="Port to listen on; 0 is any free one."
        ),
    ] = SETTINGS.port,
    api_key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help=f"Key that clients must send; may be repeated. Also {KEY_VARIABLE}.",
        ),
    ] = None,
    cors_origins: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGINS",
            help="Web origins allowed besides local ones, such as https://chat.example or *;"
            " commas separate them, and it may be repeated.",
        ),
    ] = None,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOSTS",
            help="Host names accepted besides local ones, or *; beyond the loopback a key lets in"
            " every name. Commas separate them, and it may be repeated.",
        ),
    ] = None,
    max_queue: Annotated[
        int,
        typer.Option(
            parser=number(0),
            metavar="N",
            help="Requests that may wait beyond those that run.",
        ),
    ] = ENGINE.max_queue,
    max_body: Annotated[
        int,
        typer.Option(parser=number(1), metavar="MIB", help="Largest request body, in MiB."),
    ] = SETTINGS.max_body // MEBIBYTE,
    max_gap_ms: Annotated[
        int,
        typer.Option(
            parser=number(1, 10_000),
            metavar="MS",
            help="Longest pause of a running stream while prompts are read.",
        ),
    ] = round(MODEL.max_gap * 1000),
    cache_ram: Annotated[
        int,
        typer.Option(
            parser=size,
            metavar="SIZE",
            show_default="1GiB",
            help="Memory for prefixes that lost their place in the context; 0 for none.",
        ),
    ] = ENGINE.cache_memory,
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            metavar="DIR",
            help=f"Where prefixes are kept over a restart. Also {CACHE_VARIABLE}.",
        ),
    ] = ENGINE.cache_dir,
    cache_disk: Annotated[
        int,
        typer.Option(
            parser=size,
            metavar="SIZE",
            show_default="4GiB",
            help="How much of the disk prefixes may take, such as 4GiB or 500M; 0 keeps none.",
        ),
    ] = ENGINE.cache_disk,
    export_type: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            show_default="q8_0 up to 3 GB of weights, else q4_k_m",
            help="What a checkpoint is exported to, to be served; owner/repo:TYPE does the same.",
        ),
    ] = ENGINE.export_type,
    export_disk: Annotated[
        int,
        typer.Option(
            parser=size,
            metavar="SIZE",
            show_default="64GiB",
            help="How much of the disk exported checkpoints may take.",
        ),
    ] = ENGINE.export_disk,
    log_level: Annotated[LogLevel, typer.Option(help="What the log shows.")] = SETTINGS.log_level,
    version: Version = False,
) -> int:
    """Serve a model over the OpenAI API, until Ctrl-C."""
    config = EngineConfig(
        model=ModelConfig(
            model=model,
            aliases=aliases(alias or ()),
            context_length=context or None,
            parallel=parallel,
            threads=threads or None,
            gpu_layers=layers(gpu_layers),
            draft_max=drafts(draft_max),
            max_gap=max_gap_ms / 1000,
            flash_attention=attention(flash_attention, cache_type_v),
            cache_type_k=cache_type_k,
            cache_type_v=cache_type_v,
            batch=batch or None,
            micro_batch=micro_batch or None,
            chat_template=chat_template_file,
            reasoning=reasoning,
            reasoning_budget=reasoning_budget,
            reasoning_format=reasoning_format,
            tools=tools,
        ),
        max_queue=max_queue,
        cache_dir=cache_dir,
        cache_disk=cache_disk,
        cache_memory=cache_ram,
        export_type=export_type,
        export_disk=export_disk,
        engine=engine,
    )
    settings = Settings(
        host=host,
        port=port,
        api_keys=api_keys(api_key or (), os.environ),
        keys_of_environment=not api_key and KEY_VARIABLE in os.environ,
        cors_origins=origins(cors_origins or ()),
        allowed_hosts=hosts(allowed_hosts or ()),
        max_body=max_body * MEBIBYTE,
        log_level=log_level,
    )
    return start(config, settings)


def start(config: EngineConfig, settings: Settings) -> int:
    """The port first, then everything that takes time; two processes import at the same time."""
    gc.disable()  # what is imported stays; the server turns it on again
    from hubserve_server.listener import listen

    listener = listen(settings.host, settings.port)
    # The model's format is not known yet; it hardly ever is another than llama.cpp's.
    spawned = ahead.worker("llama.cpp" if config.engine == "auto" else config.engine)
    from hubserve_engine.service import Engine
    from hubserve_server.serving import run

    return run(Engine(config, spawned=spawned), settings, listener)
