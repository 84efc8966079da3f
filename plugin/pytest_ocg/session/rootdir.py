"""Corrects pytest's root directory if pytest took the value of one of our options for a path of tests."""

from __future__ import annotations

import copy

import pytest
from _pytest.config.findpaths import determine_setup


def correct_rootdir(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Set root directory, ini file and `addopts` as if pytest had known our options from the start.

    pytest searches its ini file before it loads plugins. In `--ocg-concepts ../data/sets.jsonl` it does not know the
    option yet, takes the path for tests, and searches the ini file there and not here. This function repeats the first
    steps of parsing with the real positional arguments.
    """
    known = config.known_args_namespace
    rootpath, inipath, inicfg, ignored = determine_setup(
        inifile=known.inifilename,
        override_ini=known.override_ini,
        args=known.file_or_dir,
        rootdir_cmd_arg=known.rootdir or None,
        invocation_dir=config.invocation_params.dir,
    )
    if (rootpath, inipath) == (config.rootpath, config.inipath):
        return
    config._rootpath, config._inipath = rootpath, inipath
    config._inicfg, config._ignored_config_files = inicfg, ignored
    config._inicache.clear()
    parser.extra_info.update(rootdir=str(rootpath), inifile=str(inipath))
    args[:] = [*config.getini("addopts"), *args]
    config._configure_python_path()
    config.pluginmanager.consider_preparse(args, exclude_only=False)
    given = parser.parse_known_args(args, namespace=copy.copy(config.option))
    if given.confcutdir is None:
        given.confcutdir = str(inipath.parent if inipath is not None else rootpath)
    config.known_args_namespace = given
