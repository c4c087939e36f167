"""What the module lets people call."""

import heed


def public_names():
    """Functions, classes and their own methods, by their names: "heed.Translator.translate"."""
    for name in heed.__all__:
        value = getattr(heed, name)
        if callable(value):
            yield f"heed.{name}", value
        if isinstance(value, type):
            for member in vars(value):
                if not member.startswith("_") and callable(getattr(value, member)):
                    yield f"heed.{name}.{member}", getattr(value, member)
