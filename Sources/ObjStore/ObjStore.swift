// The Swift interface. Nothing of it exists yet.
