"""Chats -> prompt text, by the model's own template: bounded, and forgiving of real histories."""
