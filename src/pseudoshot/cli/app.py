"""The application that commands are added to."""

from cyclopts import App

from pseudoshot._version import __version__

app = App(
    name="pseudoshot",
    version=__version__,
    help="Learn from unlabelled images, then recognise new classes from one to fifty examples.",
)
# Their options are made from all settings there are, which takes a second: only when asked for.
app.command(
    "pseudoshot.cli.train:train",
    help="""Train an embedding on unlabelled images.

    A step takes an episode: some images, several random views of each. Every image counts as a
    class of its own, and the embedding learns to tell which views belong together.
    """,
)
app.command(
    "pseudoshot.cli.train:finetune",
    help="""Go on training a run with real labels, of all images or of a few in each class.

    Ten episodes per epoch, of 64 classes and four images each (all classes where there are fewer);
    50 epochs up to a tenth of the labels, 100 above; SGD from 0.0001 on.
    """,
)
