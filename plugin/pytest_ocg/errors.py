"""Everything this package raises on purpose, under one root."""


class OcgError(Exception):
    """Something the user can put right; the message names it, its value and the way out."""


class OptionError(OcgError):
    """A command line option or ini value that cannot be used."""


class ConceptError(OcgError):
    """A concept file or dataset that cannot be read as concept sets."""


class TemplateError(OcgError):
    """A template file that cannot be read as instruction templates."""


class ModelError(OcgError):
    """A model name that means nothing, or a model that cannot be had or loaded."""


class BackendError(OcgError):
    """Generation cannot go on for any prompt: the run stops with this message."""


class CacheError(OcgError):
    """The reply cache cannot be opened, read or written."""


class MatcherError(OcgError):
    """The words of a reply cannot be analysed: no language model, or a broken one."""


class MetricError(OcgError):
    """A metric that is unknown or was given what it cannot score."""


class ThresholdError(OcgError):
    """A threshold file that cannot be read, or does not fit the results."""


class ResultsError(OcgError):
    """A results file that cannot be read or was written by another schema."""


class CompareError(OcgError):
    """Two runs that cannot be compared, or not without being told on what."""


class MergeError(OcgError):
    """Runs that cannot be put together: no shards or models of one run."""


class ExportError(OcgError):
    """A report or a table of cases that cannot be written."""
