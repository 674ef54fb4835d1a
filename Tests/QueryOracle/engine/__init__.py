"""The engine, asked through its C interface, compared with the oracle and with captured answers."""
