"""Files and streams: gzip, hashes, reading ahead, outputs written whole or not at all."""
