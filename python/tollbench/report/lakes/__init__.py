"""What a lake answers, for people: in a terminal, and as a page."""
