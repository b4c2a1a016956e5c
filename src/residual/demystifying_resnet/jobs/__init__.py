"""The kinds of jobs of "Demystifying ResNet"."""

from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.theorem import Theorem
from residual.demystifying_resnet.jobs.train import Train
from residual.images.jobs import TrainImages

__all__ = ["Hessians", "Theorem", "Train", "TrainImages"]
