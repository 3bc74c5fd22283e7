"""Pictures of sections through labelled block models and wireframes."""
