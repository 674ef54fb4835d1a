"""Single values and columns of them: which Python types there are, and the forms that values have in the library."""
