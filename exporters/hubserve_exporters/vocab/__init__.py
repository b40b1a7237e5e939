"""A checkpoint's tokenizer as GGUF metadata, and back: `metadata.tokenizer_metadata` makes it,
`compare.compare_tokenizers` proves it, `restore.tokenizer_files` undoes it.
"""
