"""What landmarks leave unexplained of a Gaussian kernel."""
