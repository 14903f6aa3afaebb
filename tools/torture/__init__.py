"""Kills, errors of the system and loss of power, at every moment of everything that is written."""
