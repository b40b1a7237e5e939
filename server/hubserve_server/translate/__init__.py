"""Between the wire's shapes and the engine's vocabulary: the only place that knows both."""
