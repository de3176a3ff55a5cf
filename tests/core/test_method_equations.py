"""Every method equals its equations in plain loops, values and gradients, in double precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pseudoshot.heads import TaskTransformer
from pseudoshot.methods import Method
from pseudoshot.methods.hard_task import hardest_classes, weighted_choices
from pseudoshot.methods.metamix import mixed_query_loss
from pseudoshot.tasks.tasks import Tasks
from pseudoshot.tools.beta import symmetric_beta_draws
from tests.core.given_embeddings import DIM, SHAPES, assert_equal, build, drawn, generator
from tests.core.reference import slow_logits, slow_similarity
from tests.core.reference_methods import (
    cross_entropy,
    members_of,
    slow_attention,
    slow_hms_loss,
    slow_task_loss,
)


def slow_mixed(method: Method, members: list[Tensor], tasks: Tasks, from_batch: Tensor | None):
    """HMS by explicit mixing, with the shares that the fast way draws."""
    s = method.settings
    C, N, V = s.images, tasks.query.shape[1], s.V
    ways = [[int(row) // V for row in support[:, 0]] for support in tasks.support]
    whole = N == C or from_batch is not None
    total = C if whole else N
    k = min(s.neighbours, (total - 1) * V)
    if whole:  # one draw for each row of the episode, whichever task asks
        table = torch.rand((C * V, k), generator=generator()).double() * s.strength
        shares = [table[query.flatten()] for query in tasks.query]
    else:
        count = len(tasks.query)
        table = torch.rand((count, N * s.query, k), generator=generator()).double() * s.strength
        shares = list(table)
    if from_batch is None:
        candidates = members
        labels = [[w for w in way for _ in range(V)] for way in ways]
    else:
        candidates = [from_batch] * len(members)
        labels = [[row // V for row in range(C * V)]] * len(members)
    return slow_hms_loss(
        members, candidates, labels, ways, s.shot, s.query, shares, k, s.similarity,
        s.resolved_temperature,
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("similarity", ["sns", "cosine", "euclidean", "inner"])
@pytest.mark.parametrize("scope", ["task", "batch"])
def test_hms_equals_explicit_mixing(shape, strength, similarity, scope):
    method = build(
        "hms", shape, strength=strength, similarity=similarity, neighbours=3, neighbours_from=scope
    )
    z, tasks = drawn(method)
    fast = method.objective(z, tasks, generator())
    slow = slow_mixed(method, members_of(z, tasks), tasks, z if scope == "batch" else None)
    assert_equal(fast, slow, z, method)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("residual", ["paper", "released"])
@pytest.mark.parametrize(("heads", "layers"), [(1, 1), (3, 1), (2, 2)])
def test_tsp_head_equals_attention_task_by_task(shape, residual, heads, layers):
    method = build("tsp-head", shape, residual=residual, heads=heads, layers=layers)
    z, tasks = drawn(method)
    fast = method.objective(z, tasks, generator())
    adapted = members_of(z, tasks)
    for layer in method.head.layers:
        adapted = [slow_attention(layer, task) for task in adapted]
    slow = slow_task_loss(adapted, method.settings.shot, method.settings.query, "sns", 1.0)
    assert_equal(fast, slow, z, method)


@pytest.mark.parametrize("shape", SHAPES)
def test_hms_and_tsp_head_together_mix_what_the_head_gives(shape):
    method = build("hms-tsp-head", shape, heads=2, neighbours=4)
    z, tasks = drawn(method)
    fast = method.objective(z, tasks, generator())
    adapted = [slow_attention(method.head.layers[0], task) for task in members_of(z, tasks)]
    assert_equal(fast, slow_mixed(method, adapted, tasks, None), z, method)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_projection_head_adapts_each_embedding_alone(shape):
    method = build("projection-head", shape)
    z, tasks = drawn(method)
    first, _, last = method.head.layers
    adapted = [
        torch.stack(
            [last.weight @ (first.weight @ x + first.bias).relu() + last.bias for x in task]
        )
        for task in members_of(z, tasks)
    ]
    slow = slow_task_loss(adapted, method.settings.shot, method.settings.query, "sns", 1.0)
    assert_equal(method.objective(z, tasks, generator()), slow, z, method)


@pytest.mark.parametrize("shape", SHAPES)
def test_film_scales_and_shifts_by_the_sum_over_the_task(shape):
    method = build("film", shape)
    z, tasks = drawn(method)
    adapted = []
    for task in members_of(z, tasks):
        total = torch.stack([method.head.f(x) for x in task]).sum(0)
        modulation = method.head.h(total)
        adapted.append(torch.stack([modulation[:DIM] * x + modulation[DIM:] for x in task]))
    slow = slow_task_loss(adapted, method.settings.shot, method.settings.query, "sns", 1.0)
    assert_equal(method.objective(z, tasks, generator()), slow, z, method)


@pytest.mark.parametrize("shape", SHAPES)
def test_feat_adapts_the_support_alone(shape):
    method = build("feat", shape, heads=2)
    z, tasks = drawn(method)
    K, V = method.settings.shot, method.settings.V
    terms = []
    for task in members_of(z, tasks):
        classes = task.view(-1, V, DIM)
        support = slow_attention(method.head.layers[0], classes[:, :K].reshape(-1, DIM))
        prototypes = [one.mean(0) for one in support.view(-1, K, DIM)]
        for label, one in enumerate(classes):
            for query in one[K:]:
                logits = [slow_similarity("sns", query, p) for p in prototypes]
                terms.append(cross_entropy(logits, label))
    assert_equal(method.objective(z, tasks, generator()), torch.stack(terms).mean(), z, method)


@pytest.mark.parametrize("shared_rows", [False, True])
def test_the_transformer_drops_features_in_training_and_only_then(shared_rows):
    """ψ is linear in L's weights: the gradient of a column is in proportion to its feature."""
    torch.manual_seed(0)
    head = TaskTransformer(DIM, heads=50, dropout=0.2, attention_dropout=0.0).double()
    (layer,) = head.layers
    z, members = torch.rand(9, DIM, dtype=torch.float64), torch.tensor([[0, 3, 5], [8, 3, 1]])

    def gradient() -> Tensor:
        psi = head.on_tasks(z, members) if shared_rows else head(z[members])
        return torch.autograd.grad(psi.sum(), layer.linear.weight)[0]

    in_training = gradient()
    head.eval()
    shares = in_training / gradient()
    dropped = (shares == 0).all(0)
    assert 0.1 < dropped.double().mean() < 0.3
    torch.testing.assert_close(shares[:, ~dropped], torch.full_like(shares[:, ~dropped], 1.25))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("similarity", ["sns", "cosine", "euclidean", "inner"])
def test_metamix_mixes_queries_and_labels(shape, similarity):
    method = build("metamix", shape, similarity=similarity)
    s = method.settings
    z, tasks = drawn(method)
    T, N, K = tasks.support.shape
    fast = method.objective(z, tasks, generator())
    source = generator()
    partner = torch.randint(N * K, (T, N * s.query), generator=source)
    share = symmetric_beta_draws(torch.Size((T, N * s.query)), s.beta, source).double()
    terms = []
    for t in range(T):
        prototypes = [z[rows].mean(0) for rows in tasks.support[t]]
        for j, row in enumerate(tasks.query[t].flatten()):
            other = int(partner[t, j])
            mix = share[t, j] * z[tasks.support[t].flatten()[other]] + (1 - share[t, j]) * z[row]
            logits = [
                slow_similarity(similarity, mix, p) / s.resolved_temperature for p in prototypes
            ]
            for weight, label in ((share[t, j], other // K), (1 - share[t, j], j // s.query)):
                terms.append(weight * cross_entropy(logits, label))
    slow = torch.stack(terms).sum() / (T * N * s.query)
    assert_equal(fast, slow, z, method)


def test_a_share_of_nothing_leaves_the_query_as_it_is():
    method = build("metamix", SHAPES[1])
    z, tasks = drawn(method)
    rows = tasks.query.flatten(1)
    classes = torch.zeros_like(rows)
    nothing = torch.zeros(rows.shape, dtype=torch.float64)
    plain = slow_task_loss(members_of(z, tasks), 1, 2, "sns", 1.0)
    mixed = mixed_query_loss(z @ z.T, tasks, rows, classes, nothing, method.settings)
    torch.testing.assert_close(mixed, plain)


def test_hard_tasks_are_made_of_the_classes_that_were_hard():
    method = build("hard-task", (6, 3, 1, 2, 4))
    z, tasks = drawn(method)
    logits = slow_logits(z, tasks, "sns", 1.0)
    expected = []
    for t, task in enumerate(logits):
        losses = [
            torch.stack([cross_entropy(list(row), n) for row in queries]).mean()
            for n, queries in enumerate(task)
        ]
        worst = max(range(3), key=lambda n: losses[n].item())
        expected.append(int(tasks.support[t, worst, 0]) // 3)
    assert hardest_classes(z @ z.T, tasks, method.settings).tolist() == expected


def test_the_loss_of_hard_tasks_is_that_of_both_halves():
    method = build("hard-task", (6, 3, 1, 2, 4))
    z, tasks = drawn(method)
    first = Tasks(tasks.support[:2], tasks.query[:2])
    source = generator()
    met = hardest_classes(z @ z.T, first, method.settings)
    counts = torch.bincount(met, minlength=6) + 1e-3
    classes = weighted_choices(counts, 2, 3, source)
    views = torch.rand(2, 3, 3, generator=source).argsort(-1)
    rows = classes[..., None] * 3 + views
    hard = Tasks(rows[..., :1], rows[..., 1:])
    slow = slow_task_loss(members_of(z, first) + members_of(z, hard), 1, 2, "sns", 1.0)
    assert_equal(method.objective(z, tasks, generator()), slow, z, method)


def test_choices_are_distinct_and_follow_their_weights():
    weights = torch.tensor([1.0, 2.0, 3.0, 1e-6])
    drawn = weighted_choices(weights, 20_000, 2, generator())
    assert (drawn[:, 0] != drawn[:, 1]).all()
    first = torch.bincount(drawn[:, 0], minlength=4) / 20_000
    torch.testing.assert_close(first, weights / weights.sum(), atol=0.015, rtol=0)


def test_the_median_of_uniforms_is_a_beta_draw():
    drawn = symmetric_beta_draws(torch.Size((40_000,)), 2, generator())
    assert float(drawn.mean()) == pytest.approx(0.5, abs=0.01)
    assert float(drawn.var()) == pytest.approx(1 / 20, abs=0.002)  # of Beta(2, 2)


def test_hms_without_strangers_is_the_baseline():
    """An episode of one image has nobody to mix with."""
    hms, baseline = (build(name, (1, None, 1, 2, 3)) for name in ("hms", "baseline"))
    z, tasks = drawn(hms)
    pair = (method.objective(z, tasks, generator()) for method in (hms, baseline))
    torch.testing.assert_close(*pair)


def test_mixes_join_after_the_delay():
    hms = build("hms", SHAPES[0], delay=2)
    baseline = build("baseline", SHAPES[0])
    z, tasks = drawn(hms)
    plain = baseline.objective(z, tasks, generator())
    losses = []
    for _ in range(3):
        losses.append(hms.objective(z, tasks, generator()))
        hms.after_step()
    assert torch.equal(losses[0], plain)
    assert torch.equal(losses[1], plain)
    assert losses[2] > plain


@pytest.mark.parametrize("scope", ["task", "batch"])
def test_hms_with_long_embeddings_is_finite_and_equals_explicit_mixing(scope):
    """Mixes then stand hundreds above every other logit, beyond what float32 can exponentiate."""
    method = build("hms", SHAPES[0], strength=1.0, neighbours=3, neighbours_from=scope)
    z, tasks = drawn(method)
    z = (1000 * z).detach().requires_grad_()
    slow = slow_mixed(method, members_of(z, tasks), tasks, z if scope == "batch" else None)
    assert_equal(method.objective(z, tasks, generator()), slow, z, method)
    single = z.detach().float().requires_grad_()
    loss = method.objective(single, tasks, generator())
    torch.testing.assert_close(loss.double(), slow, rtol=1e-4, atol=1e-2)
    loss.backward()
    assert single.grad.isfinite().all()
