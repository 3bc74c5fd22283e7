"""Statistics of samples and blocks: by domain, and by distance from the contact of two domains."""
