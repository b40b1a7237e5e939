"""What runs in a process of its own: llama.cpp, whose asserts end a process, and torch.

`call.call` starts one, has it run a module of this package, and gives back what that answers.
"""
