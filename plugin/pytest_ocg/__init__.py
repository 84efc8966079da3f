"""pytest-ordered-commongen: Ordered CommonGen as a pytest plugin and a release gate."""
