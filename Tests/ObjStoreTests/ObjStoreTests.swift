// The Swift interface has no behaviour to test yet.
