"""Files and streams: gzip, hashes, reading ahead, and outputs that are never left half written."""
