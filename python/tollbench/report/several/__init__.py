"""Several runs beside each other, in each format."""
