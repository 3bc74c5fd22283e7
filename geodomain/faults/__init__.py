"""What is wrong with a mesh, where, and what welding would mend; exact counts, no files."""
