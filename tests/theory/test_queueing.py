"""The queueing formulas against textbook values, direct sums, their limits, and a
simulation without SimPy.
"""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats
from support import refusals

import cgrsp_simpy as cg


def test_textbook_values():
    assert cg.queueing.erlang_b(2, 1.0) == pytest.approx(0.2)
    assert cg.queueing.erlang_c(3, 2.0) == pytest.approx(4 / 9)
    result = cg.queueing.mmc_patience(2.0, 1.0, 2, 0.5)
    assert result.left == pytest.approx(2 / 7)
    assert result.wait_probability == pytest.approx(4 / 7)


@pytest.mark.parametrize(
    ("load", "servers"),
    [
        (0.3, range(8)),
        (1.0, range(8)),
        (4.7, range(8)),
        (1000.0, [900, 1000, 1100, 5000]),
    ],
)
def test_erlang_b_by_the_gamma_function(load, servers):
    servers = np.array(servers)
    poisson = stats.poisson.pmf(servers, load) / special.gammaincc(servers + 1, load)
    assert cg.queueing.erlang_b(servers, load) == pytest.approx(poisson, rel=1e-9)
    assert cg.queueing.erlang_b(10, 1e6) == pytest.approx(1 - 10 / 1e6, rel=1e-6)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.99])
def test_one_server_is_m_m_1(load):
    result, wait_s = cg.queueing.mmc(load, 1.0, 1), load / (1 - load)
    assert (result.wait_probability, result.wait_s) == pytest.approx((load, wait_s))
    others = cg.queueing.mg1(load, 1.0, 0.0), cg.queueing.mgc(load, 1.0, 1, 2.0)
    # M/D/1 waits half as long
    assert [each.wait_s for each in others] == pytest.approx([wait_s / 2, 2.5 * wait_s])


def test_without_a_steady_state_the_wait_is_infinite():
    result = cg.queueing.mmc(3.0, 1.0, [1, 3, 4])
    assert result.wait_s.tolist()[:2] == [math.inf, math.inf]
    assert result.wait_s[2] < math.inf
    assert result.wait_probability[:2].tolist() == [1, 1]  # to the bit
    assert result.utilisation.tolist() == [1, 1, 0.75]


@pytest.mark.parametrize("load", [1.2, 2.0, 2.9])
def test_without_patience_customers_are_lost_and_with_enough_of_it_all_wait(load):
    servers = 3
    none = cg.queueing.mmc_patience(load, 1.0, servers, 0.0)
    much = cg.queueing.mmc_patience(load, 1.0, servers, 1e4)
    lost = float(cg.queueing.erlang_b(servers, load))
    assert (none.left, none.wait_s, much.left) == pytest.approx((lost, 0, 0))
    assert (much.wait_s, much.wait_probability) == pytest.approx(
        (
            cg.queueing.mmc(load, 1.0, servers).wait_s,
            float(cg.queueing.erlang_c(servers, load)),
        )
    )


@pytest.mark.parametrize("gap", [0.0, 1e-9, -1e-9, 1e-5, -1e-5, 3e-5])
def test_near_a_load_of_one_the_formula_is_smooth(gap):
    at, near = (
        cg.queueing.mmc_patience(2.0, 1.0, 2, 3.0),
        cg.queueing.mmc_patience(2.0 + gap, 1.0, 2, 3.0),
    )
    assert (near.left, near.wait_s) == pytest.approx(
        (at.left, at.wait_s), rel=3 * abs(gap) + 1e-12
    )


@pytest.mark.parametrize(
    ("rate", "servers", "patience"),
    [
        (1.5, 2, 0.7),
        (2.6, 2, 1.3),
        (9.0, 10, 0.2),
        (2.00009, 2, 1.0),  # by a series
        (1.99995, 2, 1.9),
        (2.0, 2, 3.0),
    ],
)
def test_patience_by_numerical_integration(rate, servers, patience):
    """The density of the offered wait is proportional to e^(d x) up to b and falls as
    e^(-c mu x) beyond (mu = 1).
    """
    d, b = rate - servers, patience
    j = integrate.quad(lambda x: math.exp(d * x), 0, b)[0] + math.exp(d * b) / servers
    e = sum(rate**n / math.factorial(n) for n in range(servers)) / (
        rate ** (servers - 1) / math.factorial(servers - 1)
    )
    tail = (
        integrate.quad(lambda x: x * math.exp(d * x), 0, b)[0]
        + b * math.exp(d * b) / servers
    )
    result = cg.queueing.mmc_patience(rate, 1.0, servers, patience)
    served = rate / servers * (e - 1 + servers * j)
    expected = np.array([rate * j, rate * tail, served, 1 + d * j]) / (e + rate * j)
    assert [*vars(result).values()] == pytest.approx(list(expected), rel=1e-12)


def test_thousands_of_servers_in_one_call(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.analysis.queueing.MOST_IN_A_QUEUE", 2000)
    result = cg.queueing.mmc_patience(0.2, 0.002, np.arange(1, 2001), 900.0)
    assert (np.diff([result.left, result.wait_s]) <= 0).all()
    assert result.left[100] == pytest.approx(0.0017, abs=5e-5)  # 101 servers
    assert (result.left[-1], result.wait_s[-1]) == (0, 0)


@pytest.mark.parametrize("load", [0.4, 2.0, 7.0])
def test_balking_by_the_steady_state_of_every_state(load):
    for servers, places in ((1, 0), (2, 3), (3, 1)):
        weights = [1.0]
        for n in range(1, servers + places + 1):
            weights.append(weights[-1] * load / min(n, servers))
        share = np.array(weights) / sum(weights)
        queue = cg.queueing.mmck(load, 1.0, servers, places)
        n = np.arange(len(share))
        figures = queue.left, queue.wait_probability, queue.wait_s, queue.utilisation
        assert figures == pytest.approx(
            (
                share[-1],
                share[servers:-1].sum(),
                (share * np.maximum(n - servers, 0)).sum() / load,
                (share * np.minimum(n, servers)).sum() / servers,
            )
        )


def test_balking_between_its_limits():
    servers = np.array([1, 2, 5])
    alone = [cg.queueing.mmck(3.0, 1.0, number, 4).wait_s for number in (1, 2, 5)]
    assert cg.queueing.mmck(3.0, 1.0, servers, 4).wait_s == pytest.approx(alone)
    assert cg.queueing.mmck(3.0, 1.0, servers, 0).left == pytest.approx(
        cg.queueing.erlang_b(servers, 3.0)
    )
    many = cg.queueing.mmck(1.5, 1.0, 2, 2000)
    assert many.wait_s == pytest.approx(cg.queueing.mmc(1.5, 1.0, 2).wait_s)
    assert cg.queueing.mmck(9.0, 1.0, 2, 5000).left == pytest.approx(1 - 2 / 9)


def test_a_finite_source_satisfies_its_balance_and_its_limits():
    # one machine never waits; it is down for 5 of 25 hours
    one = cg.queueing.finite_source(1, 1 / 20, 1 / 5, 1)
    assert {one.wait_probability, one.wait_s} == {0}  # numbers: arrays have no hash
    # of 900 that are always down, the repairer is never idle
    busy = one.utilisation, cg.queueing.finite_source(900, 1.0, 1e-9, 1).utilisation
    assert busy == pytest.approx((5 / 25, 1))
    # two machines and one repairer: p = (1, 2 a, 2 a^2) / total, with a = 1 / 4
    two = cg.queueing.finite_source(2, 1 / 20, 1 / 5, 1)
    assert (two.utilisation, two.wait_probability, two.wait_s) == pytest.approx(
        (1 - 1 / 1.625, 1 / 5, 1 / 5 * 5)
    )
    # very many customers that come rarely are a Poisson process
    many = cg.queueing.finite_source(200_000, 1.5 / 200_000, 1.0, np.array([2, 3]))
    assert many.wait_s == pytest.approx(
        cg.queueing.mmc(1.5, 1.0, [2, 3]).wait_s, rel=1e-3
    )
    assert many.wait_probability == pytest.approx(
        cg.queueing.erlang_c([2, 3], 1.5), rel=1e-3
    )


def test_priorities_without_preemption():
    # the only class with work, and the conservation law of the work: sum of rho W
    one = cg.queueing.mg1_priority([0.08, 9.0], [10.0, 0.0], [200.0, 0.0])
    assert one == pytest.approx([40, 200])
    rates, means, squares = np.array([0.02, 0.03]), np.array([10.0, 15.0]), [200.0, 300]
    waits = cg.queueing.mg1_priority(rates, means, squares)
    loads, residual = rates * means, np.dot(rates, squares) / 2
    assert np.dot(loads, waits) == pytest.approx(0.65 * residual / 0.35)
    # the second class of an overloaded server fills what the first leaves
    busy = cg.queueing.mg1_priority([0.4, 2.6], [0.5, 0.5], [0.5, 0.5])
    assert busy.tolist() == [pytest.approx(0.5 / 0.8), math.inf]


def test_service_in_batches_by_the_chain_of_those_left_behind():
    mean, batch = 8.0, 10
    counts = np.arange(400)
    arrivals = stats.poisson.pmf(counts, mean)
    left = np.zeros(400)
    left[0] = 1.0
    for _ in range(600):
        total = np.convolve(left, arrivals)
        left = total[batch : batch + 400]
        left[0] += total[:batch].sum()
    expected = (left * counts).sum() / mean * 60 + 30
    assert cg.queueing.batch_service(mean / 60, 60.0, batch) == pytest.approx(expected)
    assert cg.queueing.batch_service(10 / 60, 60.0, 10) == math.inf
    assert cg.queueing.batch_service(1e-3, 60.0, 10) == pytest.approx(30)


@pytest.mark.parametrize("load", [0.3, 0.499, 0.5, 0.99, 1 - 1e-9])
def test_batches_of_one_customer_are_m_d_1_up_to_saturation(load):
    expected = load / (2 * (1 - load)) + 0.5
    assert cg.queueing.batch_service(load, 1.0, 1) == pytest.approx(expected, rel=1e-7)


test_arrays_of_other_values_are_rejected = refusals(
    (math.inf, "servers(=inf) must be whole numbers from 1 to 10,000,000"),
    ("a", "servers(='a')"),
    ([[1], [1, 2]], "servers(=[[1], [1, 2]])"),
    call=lambda servers: cg.queueing.mmc(1.0, 2.0, servers),
)


test_unsuitable_values_are_rejected = refusals(
    (lambda: cg.queueing.erlang_b(-1, 1.0), ["servers", "-1", "from 0"]),
    (lambda: cg.queueing.erlang_c(0, 1.0), ["servers", "0", "from 1"]),
    (lambda: cg.queueing.mmc(1.0, 1.0, 1.5), ["servers", "1.5", "whole"]),
    (lambda: cg.queueing.mmc(0.0, 1.0, 1), ["arrival_rate", "0"]),
    (lambda: cg.queueing.mmc(1.0, -1.0, 1), ["service_rate", "-1"]),
    (lambda: cg.queueing.mmc_patience(1.0, 1.0, 1, -1.0), ["patience_s", "-1"]),
    (lambda: cg.queueing.mgc(1.0, 1.0, 2, -0.5), ["service_cv", "-0.5"]),
    (lambda: cg.queueing.mg1_ps(1.0, 0.5, "a"), "times_s(='a') must be finite"),
    (lambda: cg.queueing.mg1_priority("a", [1], [1]), "arrival_rates(='a')"),
    (
        lambda: cg.queueing.mg1_priority([0.1, 0.2], [1.0], [1.0]),
        "mean_s(=[1.0]) must be numbers >= 0, as many as arrival_rates has",
    ),
    (lambda: cg.queueing.mmck(1.0, 1.0, 2, -1), "places"),
    (lambda: cg.queueing.finite_source(0, 1.0, 1.0, 1), "customers"),
    (lambda: cg.queueing.batch_service(1.0, 60.0, 0), "batch"),
    (lambda: cg.queueing.batch_service(0.0, 60.0, 2), "arrival_rate"),
)


def birth_death_a(arrival_rate, service_rate, servers, patience_s, most=9000):
    """Shares of Erlang A by its birth-and-death chain."""
    rates = [
        min(n, servers) * service_rate + max(n - servers, 0) / patience_s
        for n in range(1, most)
    ]
    logs = np.concatenate([[0], np.cumsum(np.log(arrival_rate) - np.log(rates))])
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    queue = np.maximum(np.arange(most) - servers, 0) @ shares
    return shares[servers:].sum(), queue / patience_s / arrival_rate


@pytest.mark.parametrize(
    ("servers", "rho", "patience_s"),
    [
        (1, 1e-9, 1e6),
        (1, 0.3, 60.0),
        (2, 1.0, 0.02),
        (5, 0.9, 3.0),
        (5, 3.0, 0.7),
        (40, 1.2, 60.0),
    ],
)
def test_erlang_a_by_its_birth_and_death_chain(servers, rho, patience_s):
    result = cg.queueing.erlang_a(rho * servers, 1.0, servers, patience_s)
    wait, left = birth_death_a(rho * servers, 1.0, servers, patience_s)
    shares = result.wait_probability, result.utilisation
    assert shares == pytest.approx((wait, rho * (1 - left)), rel=1e-8)
    lost = result.left, result.wait_s
    assert lost == pytest.approx((left, left * patience_s), rel=1e-6, abs=0)
