"""What the findings share: tables in Markdown, and names of values."""

ABOVE = 1.01  # what is less than a per cent apart is called equal


def table(head, rows):
    """A table in Markdown; the first column is text."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def labels(sweeps, config):
    return sweeps.config(config)["plot"]["labels"]


def name_of(sweeps, config, value):
    return labels(sweeps, config).get(value, value)
