"""Each lesson's exercises: what they are (toml), and what their checks need (py)."""
