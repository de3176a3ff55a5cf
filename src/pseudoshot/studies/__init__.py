"""The paper as data: every table and figure by one command, every claim tested."""

from pseudoshot.studies.running import run_studies
from pseudoshot.studies.study import Study, all_studies, get_study

__all__ = ["Study", "all_studies", "get_study", "run_studies"]
