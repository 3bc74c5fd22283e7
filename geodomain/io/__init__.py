"""Files in and out: wireframes, block models, text tables; computes no geometry."""
