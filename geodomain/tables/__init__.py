"""Text tables read by the native scanner and written back byte for byte with new columns."""
