"""What no lesson imports: the course as web pages, and the commands for a class."""
