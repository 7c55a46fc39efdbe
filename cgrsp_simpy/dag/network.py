"""A small fully connected network in NumPy, and the optimiser that fits it (worl-rtgs.txt
Section 4.3.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.dag.graph import Floats, Ints

HIDDEN = (128, 64)  # units of the hidden layers, printed


class Network:
    """Layers of weights and biases, ReLU between them and nothing after the last (printed).

    sizes: units of the layers, inputs and outputs included. The first weights are drawn as in He,
    Zhang, Ren and Sun (2015), Delving Deep into Rectifiers (ours; the paper prints none), the first
    biases are 0. flat: all weights and biases in one vector, to be changed in place; `layers` shows
    it as a pair (weights, biases) a layer.
    """

    def __init__(self, sizes: Sequence[int], generator: Generator) -> None:
        self.sizes = tuple(sizes)
        self.flat = np.zeros(sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes)))
        self.layers = self._split(self.flat)
        for weights, _ in self.layers:
            weights[:] = generator.normal(0.0, np.sqrt(2 / len(weights)), weights.shape)

    def _split(self, flat: Floats) -> list[tuple[Floats, Floats]]:
        """A vector of all parameters as (weights, biases) a layer, without copying."""
        answer, end = [], 0
        for inputs, outputs in pairwise(self.sizes):
            begin, middle = end, end + inputs * outputs
            end = middle + outputs
            answer.append((flat[begin:middle].reshape(inputs, outputs), flat[middle:end]))
        return answer

    def ahead(self, last_inputs: Floats) -> Floats:
        """What the last of the inputs, and the bias, add to the first layer: worked out once
        for many calls.
        """
        weights, biases = self.layers[0]
        return last_inputs @ weights[-last_inputs.shape[1] :] + biases

    def __call__(self, inputs: Floats, ahead: Floats | None = None) -> Floats:
        """Outputs, shape (rows, inputs) -> (rows, outputs); with `ahead` of the last inputs, only
        the others are given.
        """
        weights, biases = self.layers[0]
        values = inputs @ weights[: inputs.shape[1]] + (biases if ahead is None else ahead)
        for weights, biases in self.layers[1:]:
            values = np.maximum(values, 0.0) @ weights + biases
        return values

    def gradient(self, inputs: Floats, chosen: Ints, goal: Floats) -> Floats:
        """Gradient, as `flat`, of the mean of (goal - output)^2 over the rows, where a row counts
        its chosen output alone.
        """
        seen = [inputs]  # what each layer is given
        for weights, biases in self.layers[:-1]:
            seen.append(np.maximum(seen[-1] @ weights + biases, 0.0))
        weights, biases = self.layers[-1]
        outputs, rows = seen[-1] @ weights + biases, np.arange(len(inputs))
        slope = np.zeros_like(outputs)
        slope[rows, chosen] = 2 * (outputs[rows, chosen] - goal) / len(inputs)
        answer = np.empty_like(self.flat)
        for (weights, _), given, (by_weight, by_bias) in zip(
            self.layers[::-1], seen[::-1], self._split(answer)[::-1]
        ):
            np.matmul(given.T, slope, out=by_weight)
            by_bias[:] = slope.sum(axis=0)
            if given is not inputs:
                slope = slope @ weights.T * (given > 0)
        return answer


class Adam:
    """Adam: steps of about the learning rate along the mean gradient. Changes `flat` in place.

    Source: Kingma and Ba (2015), Adam: A Method for Stochastic Optimization, Algorithm 1, with
    its constants.
    """

    def __init__(self, flat: Floats, learning_rate: float = 1e-3) -> None:
        self.flat, self.learning_rate, self.steps = flat, learning_rate, 0
        self._mean, self._square, self._change = np.zeros((3, *flat.shape))

    def step(self, gradient: Floats) -> None:
        """Go a step down the gradient.

        All in place: arrays anew for each term would take five times as long.
        """
        self.steps += 1
        change = self._change
        for moment, of in ((self._mean, 0.9), (self._square, 0.999)):
            moment *= of
            np.multiply(gradient, 1 - of, out=change)
            if moment is self._square:
                change *= gradient
            moment += change
        np.sqrt(self._square, out=change)
        change *= 1 / np.sqrt(1 - 0.999**self.steps)
        change += 1e-8
        np.divide(self._mean, change, out=change)
        change *= self.learning_rate / (1 - 0.9**self.steps)
        self.flat -= change
