"""A pendulum of two links: its equations of motion, a Runge-Kutta step and its energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

GRAVITY = 9.81
STEP = 0.01


def motion(operators: Any, state: Sequence[Any], constants: Sequence[Any]) -> tuple[Any, ...]:
    """d(θ1, θ2, ω1, ω2)/dt for masses m and lengths l."""
    θ1, θ2, ω1, ω2 = state
    m1, m2, l1, l2 = constants
    sin, cos, g = operators.sin, operators.cos, GRAVITY
    s, c = sin(θ1 - θ2), cos(θ1 - θ2)
    mass = 2.0 * m1 + m2 - m2 * (2.0 * c * c - 1.0)
    pull = -g * (2.0 * m1 + m2) * sin(θ1) - m2 * g * sin(θ1 - 2.0 * θ2)
    first = pull - 2.0 * s * m2 * (ω2 * ω2 * l2 + ω1 * ω1 * l1 * c)
    whole = ω1 * ω1 * l1 * (m1 + m2) + g * (m1 + m2) * cos(θ1) + ω2 * ω2 * l2 * m2 * c
    return ω1, ω2, first / (l1 * mass), 2.0 * s * whole / (l2 * mass)


def runge_kutta(operators: Any, state: Sequence[Any], constants: Sequence[Any]) -> tuple[Any, ...]:
    """The state after a step of the classical method of fourth order."""

    def moved(slope: Sequence[Any], by: float) -> tuple[Any, ...]:
        return tuple(x + by * k for x, k in zip(state, slope, strict=True))

    k1 = motion(operators, state, constants)
    k2 = motion(operators, moved(k1, STEP / 2), constants)
    k3 = motion(operators, moved(k2, STEP / 2), constants)
    k4 = motion(operators, moved(k3, STEP), constants)
    return tuple(
        x + (STEP / 6.0) * (a + 2.0 * b + 2.0 * c + d)
        for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True)
    )


def energy(operators: Any, state: Sequence[Any], constants: Sequence[Any]) -> Any:
    """Kinetic and potential energy."""
    θ1, θ2, ω1, ω2 = state
    m1, m2, l1, l2 = constants
    cos = operators.cos
    cross = 2.0 * l1 * l2 * ω1 * ω2 * cos(θ1 - θ2)
    kinetic = 0.5 * m2 * (l1 * l1 * ω1 * ω1 + l2 * l2 * ω2 * ω2 + cross)
    kinetic = kinetic + 0.5 * m1 * l1 * l1 * ω1 * ω1
    return kinetic - (m1 + m2) * GRAVITY * l1 * cos(θ1) - m2 * GRAVITY * l2 * cos(θ2)
