"""Where points are stored: validated user input, and the stores that hold it."""
