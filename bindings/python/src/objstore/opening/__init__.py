"""Opening stores: options, migrations, and files that are checked without being opened."""
