"""Block models made from an origin, sizes and counts, or to fit wireframes; exact in decimals."""
