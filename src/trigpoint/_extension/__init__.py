"""From coordinates of the landmarks to coordinates of every point."""
