"""The application that commands are added to."""

from cyclopts import App

from pseudoshot._version import __version__
from pseudoshot.cli.options import example

app = App(
    name="pseudoshot",
    version=__version__,
    help="Learn from unlabelled images, then recognise new classes from one to fifty examples.",
    help_epilogue=example(
        "serve --images FOLDER",
        "classify --support EXAMPLES --images FOLDER",
        "train FOLDER --out runs/mine",
    ),
)
# Their options are made from all settings there are, which takes a second: only when asked for.
app.command(
    "pseudoshot.cli.train:train",
    help="""Train an embedding on unlabelled images.

    A step takes an episode: some images, several random views of each. Every image counts as a
    class of its own, and the embedding learns to tell which views belong together.
    """,
    help_epilogue=example(
        "train FOLDER --out runs/mine",
        "train cifar-fs --method hms --strength 0.2 --out runs/hms",
        "train cifar-fs --out runs/hms --resume --epochs 150",
    ),
)
app.command(
    "pseudoshot.cli.train:finetune",
    help="""Go on training a run with real labels, of all images or of a few in each class.

    Ten episodes per epoch, of 64 classes and four images each (all classes where there are fewer);
    50 epochs up to a tenth of the labels, 100 above; SGD from 0.0001 on.
    """,
    help_epilogue=example("finetune runs/hms cifar-fs --labels 0.1 --out runs/tuned"),
)
