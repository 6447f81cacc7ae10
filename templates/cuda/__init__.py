"""Templates and headers for CUDA."""
