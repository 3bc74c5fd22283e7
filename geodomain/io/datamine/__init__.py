"""Tables of Datamine (.dm): definition, pages and fields; what they mean is not here."""
