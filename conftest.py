"""Lets the plugin's own tests drive pytest from inside pytest."""

pytest_plugins = ["pytester"]
