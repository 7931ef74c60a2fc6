"""Only the optional C extension; everything else is in pyproject.toml."""

from setuptools import Extension, setup

try:
    import numpy

    extensions = [
        Extension(
            "dynamis._fast",
            ["src/dynamis/_fast.c"],
            include_dirs=[numpy.get_include()],
            optional=True,  # without a compiler calls take a slower path
        )
    ]
except ImportError:
    extensions = []

setup(ext_modules=extensions)
