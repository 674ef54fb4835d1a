"""Projections: classes that show a part of the objects of another, under names of their own."""
