"""Many machines through an engine that exists: what ReFrame is given, and what toll makes of its answers."""
