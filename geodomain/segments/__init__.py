"""Line segments against a surface: where they cross it, from arrays, tables and raw files."""
