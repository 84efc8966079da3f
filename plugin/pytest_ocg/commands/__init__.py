"""What `ocg` can do, one command a file."""
