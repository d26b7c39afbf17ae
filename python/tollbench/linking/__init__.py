"""The program of a user's own build, linked again with its functions at other places."""
