"""What can be measured here: suites, machine, libraries, packages."""
