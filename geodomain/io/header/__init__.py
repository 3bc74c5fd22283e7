"""What the head of a table means: its columns, the names vendors use, and the model's frame."""
