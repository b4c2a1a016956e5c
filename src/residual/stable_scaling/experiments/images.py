"""He et al.'s post-activation residual networks with tau, trained on images."""

from collections.abc import Iterator

from residual.images.experiments import ImageDepths, ImageTraining
from residual.images.setting import Network, PostActivation

WITH_BATCH_NORM = {"batch-norm": None, "batch-norm-tau": 0.5}
"""The power a of tau = L^-a; None: no tau."""
WITHOUT = {"L^-0.25": 0.25, "L^-0.5": 0.5, "L^-1": 1.0}


class PostActivationTraining(ImageTraining, name="postactivation_training"):
    """Residual networks relu(x + tau B(x)) with and without batch norm.

    Attributes:
        networks: ``batch-norm``, ``batch-norm-tau`` (tau = 1/sqrt(L)), and without batch norm ``L^-a`` (tau = L^-a).
        depths: layers, two more than a multiple of six; L is the number of blocks.
        learnable: tau is trained in networks without batch norm.
    """

    depths: ImageDepths
    learnable: bool

    def places(self) -> Iterator[tuple[str, int]]:
        """Every network at every depth."""
        return ((name, depth) for name in self.networks for depth in self.depths)

    def network(self, name: str, depth: int) -> Network:
        """A network's settings.

        Raises:
            ValueError: no network has that name; the message continues the protocol's name.
        """
        known = WITH_BATCH_NORM | WITHOUT
        if name not in known:
            raise ValueError(f"has the network {name!r}; allowed: {', '.join(known)}")
        normed = name in WITH_BATCH_NORM
        return PostActivation(depth, normed, known[name], self.learnable and not normed)
