"""Models as programs of other systems."""
