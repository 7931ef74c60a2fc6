"""Orientations between the pages' roll, pitch, yaw, the scene's wxyz, and matrices."""

import warnings

import numpy as np
from scipy.spatial.transform import Rotation


def rpy_of(R: np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw about fixed axes; where they are not unique, roll is 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gimbal lock
        return Rotation.from_matrix(R).as_euler("ZYX")[::-1]


def matrix_of_rpy(rpy: tuple[float, float, float]) -> np.ndarray:
    """The rotation of roll, pitch, yaw."""
    return Rotation.from_euler("ZYX", rpy[::-1]).as_matrix()


def wxyz_of(R: np.ndarray) -> np.ndarray:
    """Quaternions, w first, of one matrix or several."""
    return Rotation.from_matrix(R).as_quat()[..., [3, 0, 1, 2]]


def matrix_of_wxyz(wxyz: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion, w first."""
    return Rotation.from_quat(np.asarray(wxyz)[[1, 2, 3, 0]]).as_matrix()


def xyzw_of(R: np.ndarray) -> np.ndarray:
    """A quaternion, w last and not negative."""
    return Rotation.from_matrix(R).as_quat(canonical=True)
