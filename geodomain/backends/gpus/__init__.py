"""Several GPUs as one backend: a question is cut into parts, and each GPU takes part after part."""
