"""Pictures that only some lessons draw: each is live, still or recorded, with its numbers as text."""
