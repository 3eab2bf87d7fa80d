"""The language server: open documents, checked within a project that is kept in memory, for editors.

`documents` holds what is open, `projects` and `kept` the projects around it, `checking` decides what is checked when;
`diagnostics`, `actions` and `hover` say what was found in the words of the protocol, and `serving` speaks it (Language
Server Protocol 3.17, microsoft.github.io/language-server-protocol). Only `serving` and `protocol` import pygls.
"""
