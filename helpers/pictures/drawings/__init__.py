"""Pictures that only some lessons draw: each has its numbers as text, and is live, still or recorded."""
