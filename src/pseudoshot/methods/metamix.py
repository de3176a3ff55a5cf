"""MetaMix (Yao et al. 2021): queries mixed with support instances, and their labels alike."""

from __future__ import annotations

import torch
from pydantic import PositiveInt
from torch import Tensor

from pseudoshot.methods.base import EpisodicMethod
from pseudoshot.methods.settings import TaskSettings
from pseudoshot.tasks.gather import gather_rows
from pseudoshot.tasks.gram import gram_matrix, prototype_products, square_norms
from pseudoshot.tasks.similarity import similarity_from_products
from pseudoshot.tasks.tasks import Tasks
from pseudoshot.tools.beta import symmetric_beta_draws


class MetaMixSettings(TaskSettings):
    beta: PositiveInt = 2
    """shares of the mixes are drawn from Beta(beta, beta)"""


class MetaMix(EpisodicMethod):
    """MetaMix: each query is mixed with a random support instance of its task, labels too.

    m = λs + (1-λ)q and y = λy_s + (1-λ)y_q with λ ~ Beta(β, β), in place of q in Eq. 1.
    """

    Settings = MetaMixSettings
    described = "section 7.3, Table of mixup-based methods"
    settings: MetaMixSettings

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        settings = self.settings
        N, K = tasks.support.shape[1:]
        query = tasks.query.flatten(1)  # (T, NQ)
        partner = torch.randint(N * K, query.shape, generator=generator).to(query.device)
        share = symmetric_beta_draws(query.shape, settings.beta, generator)  # (T, NQ)
        support = tasks.support.flatten(1).gather(1, partner)
        return mixed_query_loss(
            gram_matrix(embeddings), tasks, support, partner // K, share.to(embeddings), settings
        )


def mixed_query_loss(
    gram: Tensor,
    tasks: Tasks,
    partner: Tensor,
    partner_class: Tensor,
    share: Tensor,
    settings: TaskSettings,
) -> Tensor:
    """Cross entropy with mixed labels; partners are rows (T, NQ), their classes 0 to N - 1."""
    T, N, Q = tasks.query.shape
    query = tasks.query.flatten(1)
    rest = 1 - share
    products, pp = prototype_products(gram, tasks)  # (T, N, R), (T, N)
    with_query, with_partner = (
        products.gather(2, rows[:, None].expand(T, N, -1)).mT for rows in (query, partner)
    )
    mp = share[..., None] * with_partner + rest[..., None] * with_query  # (T, NQ, N)
    cross = gather_rows(gram.flatten(), query * len(gram) + partner)
    mm = (
        share.square() * square_norms(gram, partner)
        + 2 * share * rest * cross
        + rest.square() * square_norms(gram, query)
    )
    logits = similarity_from_products(settings.similarity, mp, mm[..., None], pp[:, None])
    log_likely = (logits / settings.resolved_temperature).log_softmax(2)
    own_class = torch.arange(N, device=gram.device).repeat_interleave(Q).expand(T, -1)
    for_own, for_partner = (
        log_likely.gather(2, classes[..., None])[..., 0] for classes in (own_class, partner_class)
    )
    return -(share * for_partner + rest * for_own).mean()
