"""The report: one self-contained page of pictures, curves and accuracies for a run."""

from pseudoshot.report.novel import Novel
from pseudoshot.report.page import write_report

__all__ = ["Novel", "write_report"]
