"""The commands of someone with images: classify, suggest, serve, embed, export."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from pseudoshot.cli.app import app
from pseudoshot.cli.options import ClassifierName, Model, ModelOrDefault, Reading, Switch, example
from pseudoshot.tools.console import say


@app.command(
    help_epilogue=example(
        "classify --support EXAMPLES --images FOLDER --csv labels.csv --sort-into SORTED",
        "classify runs/mine --support labels.csv --images FOLDER --csv again.csv",
    )
)
def classify(
    model: str | None = None,
    /,
    *,
    images: Path,
    support: Path | None = None,
    csv: Path = Path("labels.csv"),
    all_probabilities: Switch = False,
    save: Path | None = None,
    sort_into: Path | None = None,
    copy: Switch = False,
    classifier: ClassifierName = None,
    reading: Reading = None,
    reject: float | None = None,
) -> None:
    """Sort a folder of images by a few examples of each class.

    Writes a CSV of file, label, confidence and runner-up. No image is moved, changed or deleted.

    Parameters
    ----------
    model
        A model, as for the other commands: by default lite0 where the extra pretrained is
        installed, else a bundled one. Or a classifier of --save or of the page of `pseudoshot
        serve`, which needs no --support.
    images
        The folder of images to sort, however deep; or one file.
    support
        A folder with one subfolder per class, of one example or more each; or a table (CSV) of
        some of the images with the columns file and label, such as one written here before.
    csv
        The file to write; one that exists is not overwritten.
    all_probabilities
        A column more for each class in that file: how likely the image is of it.
    save
        Also write the classifier, its model included, as one .safetensors file, which can stand
        for MODEL from then on.
    sort_into
        Also make this folder, with a link to every image in the folder of its class.
    copy
        Copy the images instead of linking them.
    reject
        Images of a lower confidence, from 0 to 1, are labelled "none of these".
    """
    from pseudoshot.embedders import default_model
    from pseudoshot.runs.tables import print_sorting
    from pseudoshot.sorting.folders import classify_folder

    result = classify_folder(
        model or default_model(),
        images,
        support=support,
        csv=csv,
        all_probabilities=all_probabilities,
        save=save,
        sort_into=sort_into,
        copy=copy,
        classifier=classifier,
        reading=reading,
        reject=reject,
    )
    print_sorting(result)
    print(f"labels: {csv}")
    if save is not None:
        print(f"classifier: {save}")
    if sort_into is not None:
        print(f"sorted into: {sort_into}")


@app.command(help_epilogue=example("suggest --images FOLDER --count 20 --into EXAMPLES"))
def suggest(
    model: ModelOrDefault = None,
    /,
    *,
    images: Path,
    count: int = 10,
    into: Path | None = None,
    copy: Switch = False,
    seed: int = 0,
    reading: Reading = None,
) -> None:
    """Name the few images whose labels would teach the most: diverse, and each typical of many.

    Prints one file per line, the most telling first. Put each into a subfolder named after its
    class and give the folder to `pseudoshot classify` as --support.

    Parameters
    ----------
    images
        The folder of unlabelled images.
    count
        How many images you are going to label.
    into
        Also make this folder, with a link to each of them, to be moved into one subfolder per
        class; one that holds anything is left as it is.
    copy
        Copy the images instead of linking them.
    seed
        Of the grouping.
    """
    from pseudoshot.data.loading import expanded
    from pseudoshot.embedders import default_model
    from pseudoshot.sorting import suggest as suggest_files
    from pseudoshot.sorting.placing import check_destination, lay_out

    if into is not None:
        check_destination(into, (expanded(images),))
    files = suggest_files(model or default_model(), images, count, seed, reading)
    if into is not None:
        lay_out(files, expanded(images), into, copy)
    for file in files:
        sys.stdout.buffer.write(os.fsencode(images / file) + b"\n")
    if into is not None:
        say(
            f"in '{into}': make a subfolder per class there, move the images into it, then "
            f"pseudoshot classify --support {shlex.quote(str(into))} "
            f"--images {shlex.quote(str(images))}"
        )


@app.command(help_epilogue=example("embed lite0 FOLDER --out embeddings.npz"))
def embed(model: Model, images: str, /, *, out: Path, reading: Reading = None) -> None:
    """Write the embedding of every image to a NumPy file, for use in any other program.

    The file holds `embeddings` (n, d) and `files` (n); where the images lie in one subfolder per
    class, also `labels` (n) and `classes`.

    Parameters
    ----------
    images
        A folder of images, one file, or the name of a set.
    out
        The .npz file to write; one that exists is not overwritten.
    """
    from pseudoshot.sorting.folders import embed_folder

    count, dim = embed_folder(model, images, out, reading)
    print(f"{count:,} embeddings of {dim} numbers: {out}")


@app.command(help_epilogue=example("export runs/mine mine.onnx"))
def export(model: Model, file: Path, /, *, reading: Reading = None) -> None:
    """Write the embedding as an ONNX model, checked against torch before it is left behind.

    It takes any number of images at once; what must be done to an image first stands in the file's
    metadata and is printed.

    Parameters
    ----------
    file
        The .onnx file to write; one that exists is not overwritten.
    """
    from pseudoshot.embedders.export import export_onnx

    for name, text in export_onnx(model, file, reading).items():
        print(f"{name}: {text}")
    print(f"exported: {file}")


@app.command(help_epilogue=example("serve --images FOLDER", "serve runs/mine --images FOLDER"))
def serve(
    model: ModelOrDefault = None,
    /,
    *,
    images: Path | None = None,
    classifier: ClassifierName = None,
    reading: Reading = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: list[str] | None = None,
) -> None:
    """Open a page on this machine on which images are sorted as you label a few of them.

    Parameters
    ----------
    images
        The folder of images to sort; without it, images are dropped onto the page.
    host
        The address to listen on. The default lets in this machine alone; on any other, whoever has
        the token in the address that is printed.
    port
        The port to listen on; 0 for any that is free.
    name
        Another name that browsers call this machine by, beside its own; may be given repeatedly.
    """
    from pseudoshot.embedders import default_model
    from pseudoshot.serve import serve as run_server

    run_server(model or default_model(), images, host, port, classifier, reading, name or ())
