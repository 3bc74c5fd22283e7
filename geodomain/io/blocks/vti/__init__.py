"""VTK images (.vti) with arrays more, byte for byte and without VTK: head, new arrays, file."""
