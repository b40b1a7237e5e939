"""The template for a model that brings none: ChatML, which most models have seen."""

CHATML = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
STOPS = ("<|im_end|>", "<|im_start|>")
"""Plain text to a model whose vocabulary does not have them, so no token ends its answer."""

NOTICE = (
    "This model brings no chat template: chats are rendered as ChatML. If its answers ramble, give"
    " its own template with --chat-template-file."
)
