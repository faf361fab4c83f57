"""Pictures that only some lessons draw: live, still or recorded, with their numbers as text."""
