"""A small server for models: predictions over HTTP, and a page to try them (extra `serve`)."""

from .app import create_app
from .limits import Limits

__all__ = ["Limits", "create_app"]
