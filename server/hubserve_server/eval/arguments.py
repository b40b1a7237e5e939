"""What the words of the command mean."""

from collections.abc import Sequence

import msgspec
import typer

from hubserve_server.eval.cases import Case, CaseSet


def chosen(cases: CaseSet, titles: Sequence[str]) -> CaseSet:
    """The requests that have one of `titles` in theirs; all, if there is none.

    Raises `typer.BadParameter` for one that no request has.
    """
    if not titles:
        return cases
    for title in titles:
        if not any(title in case.title for case in (*cases.calls, *cases.texts)):
            there = "; ".join(case.title for case in (*cases.calls, *cases.texts))
            raise typer.BadParameter(
                f"{title!r} is in no request's title; there are: {there}.",
                param_hint="'--request'",
            )

    def of(group: Sequence[Case]) -> tuple[Case, ...]:
        return tuple(case for case in group if any(title in case.title for title in titles))

    return msgspec.structs.replace(cases, calls=of(cases.calls), texts=of(cases.texts))
