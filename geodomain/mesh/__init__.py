"""The wireframe: triangles checked once, its fitness for a labelling, and what is wrong with it."""
