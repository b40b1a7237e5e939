"""Mixtures of experts: what is the same in all families that have them."""

from collections.abc import Iterator

from hubserve_exporters.architectures.base import BLOCK, LAYER, Architecture
from hubserve_exporters.architectures.findings import Finding, Refuse
from hubserve_exporters.architectures.rules import Rule, rule
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import Split, Squeeze


class Experts(Architecture):
    """Every layer has experts and a router; transformers 4 keeps each expert by itself, later ones
    may keep all of a layer as one."""

    normalized: bool | None = None
    """Whether llama.cpp makes the chosen experts' weights add up to 1 (None: transformers as well,
    whatever the configuration)."""

    @property
    def experts(self) -> int:
        # transformers has two names for it, and writes either.
        local = "num_local_experts" in self.config
        key = "num_local_experts" if local else "num_experts"
        return self.config.positive(key)

    def metadata(self) -> dict[str, Value]:
        return super().metadata() | {
            "expert_count": self.experts,
            "expert_used_count": self.config.positive("num_experts_per_tok"),
        }

    def expert_rules(
        self,
        place: str = "mlp",
        router: str = "gate",
        parts: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    ) -> list[Rule]:
        """The router, and gate, up and down of all experts, under the names of one expert's."""
        experts = f"{LAYER}.{place}.experts"
        targets = [f"{BLOCK}.ffn_{part}_exps.weight" for part in ("gate", "up", "down")]
        return [
            rule(f"{LAYER}.{place}.{router}.weight", f"{BLOCK}.ffn_gate_inp.weight", float32=True),
            *(
                rule(f"{experts}.{{expert}}.{part}.weight", target)
                for part, target in zip(parts, targets, strict=True)
            ),
            rule(f"{experts}.gate_up_proj", tuple(targets[:2]), Split(2, axis=1)),
            rule(f"{experts}.down_proj", targets[2]),
        ]

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        if self.normalized is not None:
            flag = self.config.flag("norm_topk_prob", False)
            if flag != self.normalized:
                yield Refuse(
                    f"config.json: 'norm_topk_prob' is {str(flag).lower()}; llama.cpp computes"
                    f" {str(self.normalized).lower()} for {self.gguf}, whatever the file says."
                )
        used = self.config.positive("num_experts_per_tok")
        if used > self.experts:
            yield Refuse(
                f"config.json: {used} experts are to be chosen ('num_experts_per_tok') of"
                f" {self.experts}."
            )


class SharedExpert(Experts):
    """One expert of every layer is always asked, beside those that the router chooses."""

    def feed_forward(self) -> list[Rule]:
        """The experts, the one that is always asked, and the gate before that."""
        shared = [
            rule(
                f"{LAYER}.mlp.shared_expert.{part}_proj.weight", f"{BLOCK}.ffn_{part}_shexp.weight"
            )
            for part in ("gate", "up", "down")
        ]
        gate = f"{LAYER}.mlp.shared_expert_gate.weight", f"{BLOCK}.ffn_gate_inp_shexp.weight"
        return [*self.expert_rules(), *shared, rule(*gate, Squeeze(0))]

    def metadata(self) -> dict[str, Value]:
        shared = self.config.positive("shared_expert_intermediate_size")
        return super().metadata() | {
            "expert_feed_forward_length": self.config.positive("moe_intermediate_size"),
            "expert_shared_feed_forward_length": shared,
        }
