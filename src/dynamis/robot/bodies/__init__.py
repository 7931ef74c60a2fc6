"""Bodies of an arm from its shapes: files of meshes, their inertia, simple shapes around them."""
