"""What every object has: where its values are, and which object it is."""
