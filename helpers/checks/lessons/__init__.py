"""The exercises, a file for each lesson. No file imports another one."""
