"""Where bytes come from and go to: streams, gzip, hashes, outputs written whole or not at all."""
