"""Parts of tools/profile_torch.py: what to profile (subjects), when things happen (recorder), on what (machine)."""


class InputError(Exception):
    """Bad input; the text is the line to print: where, what is wrong, and what would be right."""


def first_line(error):
    """What an exception says, as one line."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
