"""The application that commands are added to."""

from cyclopts import App

from pseudoshot._version import __version__

app = App(
    name="pseudoshot",
    version=__version__,
    help="Learn from unlabelled images, then recognise new classes from one to fifty examples.",
)
