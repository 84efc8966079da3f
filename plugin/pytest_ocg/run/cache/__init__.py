"""The reply cache: one SQLite file that all processes of a machine share."""
