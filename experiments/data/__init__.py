"""Readers of the real data: `mnist`, and `patches` of CT `scans`. Nothing is downloaded."""
