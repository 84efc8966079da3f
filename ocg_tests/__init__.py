"""The Ordered CommonGen benchmark, as tests."""
