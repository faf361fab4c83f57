"""The exercises, one or more files for each lesson. No file imports another."""
