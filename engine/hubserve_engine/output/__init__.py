"""Text of answers -> tool calls, by the format of the model, or whatever else it wrote."""
