"""Replies from a server that speaks OpenAI's chat completions."""
