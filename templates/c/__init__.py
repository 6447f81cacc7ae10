"""Templates and headers for C."""
