"""Reports of labelled block models: one HTML file that opens in a browser without a network."""
