"""A history for people and for other programs: terminal, page, Markdown for a chat, Atom feed."""
