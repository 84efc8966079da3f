"""Replies from a Hugging Face model on this machine."""
