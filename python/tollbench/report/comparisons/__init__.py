"""What was found, for people and for other programs: terminal, HTML, Markdown, JUnit; computes nothing."""
