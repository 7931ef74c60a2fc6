"""Only the optional C extensions; everything else is in pyproject.toml."""

from setuptools import Extension, setup

# without a compiler calls take a slower path, and there is no dynamis.jax
extensions = [Extension("dynamis._xla", ["src/dynamis/_xla.c"], optional=True)]
try:
    import numpy

    extensions.append(
        Extension(
            "dynamis._fast",
            ["src/dynamis/_fast.c"],
            include_dirs=[numpy.get_include()],
            optional=True,
        )
    )
except ImportError:
    pass

setup(ext_modules=extensions)
